package sessionfile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

// writeMarkdown writes a session for people. All that was said is quoted, so
// that none of it looks like the next heading.
func writeMarkdown(w io.Writer, s session.Session) error {
	out := bufio.NewWriter(w)
	entries := logview.Read(slices.Collect(s.Events().All()))
	fmt.Fprintf(out, "# Session %s\n\nApplication %s, user %s, %d events, last update %s.\n",
		s.ID(), s.AppName(), s.UserID(), len(entries), s.LastUpdateTime().UTC().Format(time.DateTime))
	for _, block := range logview.Blocks(entries) {
		if block.Summary == nil {
			for _, entry := range block.Entries {
				writeEntry(out, entry)
			}
			continue
		}
		writeEntry(out, block.Summary)
		fmt.Fprintf(out, "\n<details><summary>What it stands in for (%d events)</summary>\n", len(block.Entries))
		for _, entry := range block.Entries {
			writeEntry(out, entry)
		}
		fmt.Fprint(out, "\n</details>\n")
	}
	return out.Flush()
}

func writeEntry(w io.Writer, entry *logview.Entry) {
	who := cmp.Or(entry.Event.Author, "?")
	switch entry.State {
	case logview.Summary:
		who = "summary"
	case logview.Merged, logview.Undone, logview.Invalid:
		who = "summary, " + string(entry.State)
	case logview.Undo:
		who = "undo of a summary"
	case logview.Rewound:
		who += ", taken back"
	}
	fmt.Fprintf(w, "\n### %d. %s\n\n*%s*\n", entry.Number, who, entry.Event.Timestamp.UTC().Format(time.DateTime))
	for _, line := range logview.Lines(entry.Event) {
		text := line.Text
		switch line.Kind {
		case logview.Call:
			text = "calls `" + line.Name + "`\n\n" + fenced(line.Text)
		case logview.Response:
			text = "`" + line.Name + "` returns\n\n" + fenced(line.Text)
		case logview.Text:
		default:
			text = line.String()
		}
		fmt.Fprint(w, "\n", quoted(text))
	}
}

func quoted(text string) string {
	var quote strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		quote.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
	return quote.String()
}

// fenced is JSON in a fence that is longer than any in it.
func fenced(json string) string {
	fence := "```"
	for strings.Contains(json, fence) {
		fence += "`"
	}
	return fence + "json\n" + json + "\n" + fence
}
