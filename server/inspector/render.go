package inspector

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recap-adk/recap/internal/estimate"
	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

//go:embed templates
var files embed.FS

// pages are the templates by file name.
type pages map[string]*template.Template

func parsePages() pages {
	all := pages{}
	for _, name := range []string{"sessions.html", "session.html", "prompt.html", "chart.html", "error.html"} {
		all[name] = template.Must(template.New("").Funcs(template.FuncMap{
			"thousands": thousands,
			"when":      when,
			"stamp":     stamp,
		}).ParseFS(files, "templates/layout.html", "templates/"+name))
	}
	return all
}

// head is what every page has.
type head struct {
	Title string
	// Key is the session that the page is about, if it is about one, and Tab
	// which of its pages it is.
	Key *key
	Tab string
}

// Tabs are the links to the pages about the session.
func (h head) Tabs() []tab {
	return []tab{
		{"Log", h.Key.link("session"), h.Tab == "session"},
		{"What the model sees", h.Key.link("prompt"), h.Tab == "prompt"},
		{"Chart", h.Key.link("chart"), h.Tab == "chart"},
		{"Download JSON", h.Key.link("download"), false},
	}
}

type tab struct {
	Text, Link string
	Current    bool
}

// write writes a page once all of it is there, so that an error is not hidden
// in half a page.
func (p pages) write(w http.ResponseWriter, status int, name string, data any) error {
	var page bytes.Buffer
	if err := p[name].ExecuteTemplate(&page, "layout.html", data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(page.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the one who does not get it is gone
	return nil
}

// shownEvent is an event on a page.
type shownEvent struct {
	Author, ID, Invocation, Branch, Scope string
	At                                    time.Time
	Lines                                 []shownLine
	Tokens                                int
	State                                 string // a word for people, empty if the event stands for itself
	Class                                 string
	JSON                                  string // the link to all of it
}

// shownLine is a part of an event.
type shownLine struct {
	Kind, Name, Text string
	// Brief, if not empty, is shown until the reader unfolds the text.
	Brief string
	Size  int // of the text in characters
	// Cut is the number of characters that are not on the page.
	Cut int
}

// What of a text is shown at once, and at all, in characters.
const (
	briefText = 160
	plainText = 900
	maxText   = 20_000
)

// states are what becomes of an event, for people.
var states = map[logview.State]string{
	logview.Covered: "in a summary",
	logview.Summary: "summary",
	logview.Merged:  "summary, merged into a wider one",
	logview.Undone:  "summary, taken back",
	logview.Undo:    "takes back a summary",
	logview.Invalid: "record that says nothing",
	logview.Rewound: "taken back",
}

func showEvent(k key, entry *logview.Entry) shownEvent {
	e := entry.Event
	lines := logview.Lines(e)
	return shownEvent{
		Author: e.Author, ID: e.ID, Invocation: e.InvocationID, Branch: e.Branch, Scope: e.IsolationScope,
		At: e.Timestamp, Lines: showLines(lines), Tokens: tokensOf(lines),
		State: states[entry.State], Class: string(entry.State), JSON: k.link("event", "at", stamp(e.Timestamp), "event", e.ID),
	}
}

func showLines(lines []logview.Line) []shownLine {
	var shown []shownLine
	for _, line := range lines {
		text := []rune(line.Text)
		l := shownLine{Kind: string(line.Kind), Name: line.Name, Size: len(text), Cut: max(0, len(text)-maxText)}
		l.Text = string(text[:len(text)-l.Cut])
		isTool := line.Kind == logview.Call || line.Kind == logview.Response || line.Kind == logview.Thought
		if len(text) > plainText || isTool && len(text) > briefText {
			l.Brief = strings.Join(strings.Fields(string(text[:briefText])), " ") + "…"
		}
		shown = append(shown, l)
	}
	return shown
}

// tokensOf estimates the tokens of what is sent of lines. Media, whose price is
// not a matter of text, are not counted.
func tokensOf(lines []logview.Line) int {
	total := 0
	for _, line := range lines {
		switch line.Kind {
		case logview.Text, logview.Call, logview.Response:
			total += estimate.Tokens(line.Name) + estimate.Tokens(line.Text)
		}
	}
	return total
}

// shownSummary is a summary with those of the events it stands in for that are
// on the page.
type shownSummary struct {
	Event        shownEvent
	Start, End   time.Time
	Level        int
	Before       int // tokens of what it replaces, or 0
	After        int
	Cost         string
	Originals    []shownEvent
	AllOriginals string // link
}

func showSummary(k key, block logview.Block) *shownSummary {
	e := block.Summary.Event
	record, manifest := e.Actions.Compaction, e.Manifest()
	s := &shownSummary{
		Event: showEvent(k, block.Summary), Start: record.Start(), End: record.End(),
		Level: manifest.Level, Before: manifest.TokensBefore, After: manifest.TokensAfter, Cost: costOf(e),
		AllOriginals: k.link("session", "after", stamp(record.Start()), "before", stamp(record.End().Add(time.Microsecond)), "of", e.ID),
	}
	for _, entry := range block.Entries {
		s.Originals = append(s.Originals, showEvent(k, entry))
	}
	return s
}

// costOf is what the summarizer's model was paid for, in words.
func costOf(e *session.Event) string {
	usage := e.UsageMetadata
	if usage == nil || usage.TotalTokenCount == 0 {
		return "no model was used"
	}
	return fmt.Sprintf("%s tokens read, %s written", thousands(int(usage.PromptTokenCount)), thousands(int(usage.CandidatesTokenCount)))
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// stamp is a time for programs, as exact as a log has it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// when is a time for people.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
