package console

import (
	"bufio"
	"context"
	"io"
	"os"
	"time"
)

// lines reads lines in a goroutine of its own, so that waiting for one can be
// broken off.
type lines struct {
	in    *os.File
	lines chan string   // closed at the end of the input
	err   error         // why it ended, if not by its end; set before lines is closed
	stop  chan struct{} // closed by close
}

func newLines(in *os.File) *lines {
	l := &lines{in: in, lines: make(chan string), stop: make(chan struct{})}
	go l.readAll()
	return l
}

func (l *lines) readAll() {
	defer close(l.lines)
	for in := bufio.NewReader(l.in); ; {
		line, err := in.ReadString('\n')
		if line != "" {
			select {
			case l.lines <- line:
			case <-l.stop:
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				l.err = err
			}
			return
		}
	}
}

// read returns the next line. At the end of the input the error is io.EOF.
func (l *lines) read(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-l.lines:
		switch {
		case ok:
			return line, nil
		case l.err != nil:
			return "", l.err
		}
		return "", io.EOF
	}
}

// close ends the goroutine and waits for it, if its read can be broken off.
func (l *lines) close() {
	close(l.stop)
	if l.in.SetReadDeadline(time.Unix(1, 0)) != nil {
		return
	}
	for range l.lines { // until it is closed
	}
	_ = l.in.SetReadDeadline(time.Time{}) // it is the program's
}
