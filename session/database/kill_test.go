package database_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

var kills = flag.Int("kills", 15, "how many processes are killed while they append, for each kind of database")

// TestKilled kills processes at random moments while they append. Whatever was
// acknowledged is there, in order and once; what was not is there whole, or not
// at all.
func TestKilled(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	onEach(t, kinds, func(t *testing.T, k kind) {
		t.Logf("seed %d", seed)
		dsn := k.create(t)
		service := k.open(t, dsn)
		acknowledged, unacknowledged := 0, 0
		for run := range *kills {
			name := fmt.Sprint("run-", run)
			if _, err := service.Create(t.Context(), &session.CreateRequest{AppName: trip.AppName, UserID: trip.UserID, SessionID: name}); err != nil {
				t.Fatal(err)
			}
			ids := appendUntilKilled(t, k, dsn, name, random)
			acknowledged += len(ids)
			unacknowledged += checkKilled(t, service, name, ids)
			if t.Failed() {
				return
			}
		}
		t.Logf("%d events acknowledged; %d more were stored before the process could say so", acknowledged, unacknowledged)
	})
}

// appendUntilKilled runs a child and returns the IDs of the events whose append
// it has reported.
func appendUntilKilled(t *testing.T, k kind, dsn, name string, random *rand.Rand) (acknowledged []string) {
	t.Helper()
	child := newChild("TestAppendUntilKilled", k, dsn, name)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	killAfter, turns := random.IntN(25), random.IntN(20_000)
	var other strings.Builder
	for {
		if len(acknowledged) == killAfter {
			for range turns { // so that it is anywhere in the next append
				runtime.Gosched()
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killAfter = -1
		}
		line, err := lines.ReadString('\n')
		if err != nil { // half a line is no report
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		if id, ok := strings.CutPrefix(line, "stored "); ok {
			acknowledged = append(acknowledged, strings.TrimSpace(id))
		} else {
			other.WriteString(line)
		}
	}
	if err := child.Wait(); err == nil || killAfter >= 0 {
		t.Fatalf("the child ended by itself: %v\n%s", err, other.String())
	}
	return acknowledged
}

// TestAppendUntilKilled is what the child does: three events and a summary of
// them, again and again.
func TestAppendUntilKilled(t *testing.T) {
	k, dsn, name := asChild(t)
	service := k.openAsIs(t, dsn)
	handle := get(t, service, &session.GetRequest{AppName: trip.AppName, UserID: trip.UserID, SessionID: name})
	for i := 0; ; i++ {
		event := say(fmt.Sprint("e", i), at(i), strings.Repeat("x", 1+i*97%5000))
		if i%4 == 3 {
			event.Content = nil
			event.Actions.Compaction = session.NewEventCompaction(at(i-3), at(i-1), genai.NewContentFromText(fmt.Sprint("summary ", i), genai.RoleModel), nil)
		}
		event.Actions.StateDelta = map[string]any{"n": i, "user:" + name: i, "app:" + name: i}
		if err := service.AppendEvent(t.Context(), handle, event); err != nil {
			t.Fatal(err)
		}
		fmt.Println("stored", event.ID)
	}
}

// checkKilled checks a session whose writer was killed, and that it can go on. It
// returns how many events are stored beside those that were acknowledged.
func checkKilled(t *testing.T, service session.Service, name string, acknowledged []string) (more int) {
	t.Helper()
	req := &session.GetRequest{AppName: trip.AppName, UserID: trip.UserID, SessionID: name}
	s := get(t, service, req)
	n := s.Events().Len()
	if more = n - len(acknowledged); more < 0 || more > 1 {
		t.Errorf("%s: %d events are stored, %d were acknowledged", name, n, len(acknowledged))
	}
	var last time.Time
	for i := range n {
		event := s.Events().At(i)
		if want := fmt.Sprint("e", i); event.ID != want || i < len(acknowledged) && acknowledged[i] != want {
			t.Errorf("%s: event %d is %s", name, i, event.ID)
		}
		if !event.Timestamp.After(last) {
			t.Errorf("%s: event %s is at %v, not after %v", name, event.ID, event.Timestamp, last)
		}
		last = event.Timestamp
		switch record := event.Actions.Compaction; {
		case i%4 == 3 && (record == nil || record.Text() != fmt.Sprint("summary ", i)):
			t.Errorf("%s: the record of %s is %+v", name, event.ID, record)
		case i%4 != 3 && len(event.Content.Parts[0].Text) != 1+i*97%5000:
			t.Errorf("%s: event %s has %d characters", name, event.ID, len(event.Content.Parts[0].Text))
		}
	}
	for _, key := range []string{"n", "user:" + name, "app:" + name} {
		// State is stored with its event.
		if value, err := s.State().Get(key); n > 0 && value != float64(n-1) || n == 0 && err == nil {
			t.Errorf("%s: state %s is %v after %d events", name, key, value, n)
		}
	}
	next := say(fmt.Sprint("e", n), at(0), "goes on")
	next.Actions.Compaction = session.NewEventCompaction(at(0), at(1), genai.NewContentFromText("summary", genai.RoleModel), nil)
	add(t, service, s, next)
	if got := get(t, service, req).Events().Len(); got != n+1 {
		t.Errorf("%s: there are %d events after one more, before %d", name, got, n)
	}
	return more
}
