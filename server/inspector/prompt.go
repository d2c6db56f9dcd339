package inspector

import (
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

const contentsOnPage = 100

type promptPage struct {
	head
	// Who reads, and whom the page can be asked for.
	Agent, Branch, Scope     string
	Agents, Branches, Scopes []string
	Raw                      bool // without compaction

	Contents         []shownContent
	First, Last, All int // of the contents, from 1
	Tokens           int // of all contents
	Earlier, Later   string

	Log                        []shownEvent
	LogLink                    string
	Summaries, Covered, Hidden int

	Whole  string // set if the log was not read far enough to tell all
	Recent int
}

// shownContent is a content of the prompt.
type shownContent struct {
	Number int
	Role   string
	Tokens int
	Lines  []shownLine
}

// prompt is the page with what the model of an agent is sent.
func (h *handler) prompt(r *request) error {
	k, err := r.key()
	if err != nil {
		return err
	}
	skip, err := r.number("skip")
	if err != nil {
		return err
	}
	whole := r.query.Get("whole") != "" || r.query.Get("raw") != ""
	n, err := h.newest(r.Context(), k, whole)
	if err != nil {
		return err
	}
	page := promptPage{Branch: r.query.Get("branch"), Scope: r.query.Get("scope"), Raw: r.query.Get("raw") != "", Recent: recentEvents}
	page.head = head{Title: "What the model sees of " + k.ID, Key: &k, Tab: "prompt"}
	page.offer(n.events, r.query.Get("agent"))
	self := func(more ...string) string {
		return k.link("prompt", append([]string{"agent", page.Agent, "branch", page.Branch, "scope", page.Scope, "raw", r.query.Get("raw")}, more...)...)
	}
	if !n.known {
		page.Whole = self("whole", "1")
	}
	contents := icontext.Normalize(icontext.Contents(n.events, icontext.Options{
		Agent: page.Agent, Branch: page.Branch, Scope: page.Scope, Compacted: !page.Raw,
	}))
	page.show(contents, skip)
	if page.First > 1 {
		page.Earlier = self("whole", r.query.Get("whole"), "skip", strconv.Itoa(skip+contentsOnPage))
	}
	if skip > 0 {
		page.Later = self("whole", r.query.Get("whole"))
		if skip > contentsOnPage {
			page.Later = self("whole", r.query.Get("whole"), "skip", strconv.Itoa(skip-contentsOnPage))
		}
	}
	page.showLog(k, n.events, skip)
	return h.pages.write(r.w, http.StatusOK, "prompt.html", page)
}

// offer fills in which readers the page can be asked for, and takes the agent
// that spoke last where none is named.
func (p *promptPage) offer(events []*session.Event, agent string) {
	p.Agent = agent
	p.Branches, p.Scopes = []string{""}, []string{""}
	add := func(list *[]string, value string) {
		if !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
	for _, e := range slices.Backward(events) {
		add(&p.Branches, e.Branch)
		add(&p.Scopes, e.IsolationScope)
		if e.Author == "user" || e.Author == "" {
			continue
		}
		add(&p.Agents, e.Author)
		if p.Agent == "" && e.Branch == p.Branch && e.IsolationScope == p.Scope {
			p.Agent = e.Author
		}
	}
	add(&p.Branches, p.Branch)
	add(&p.Scopes, p.Scope)
	if p.Agent != "" {
		add(&p.Agents, p.Agent)
	}
	slices.Sort(p.Branches)
	slices.Sort(p.Scopes)
	slices.Sort(p.Agents)
}

// show puts the contents on the page that are before the last so many.
func (p *promptPage) show(contents []*genai.Content, skip int) {
	p.All = len(contents)
	p.Last = max(0, p.All-skip)
	p.First = max(0, p.Last-contentsOnPage) + 1
	for i, content := range contents {
		lines := logview.ContentLines(content)
		tokens := tokensOf(lines)
		p.Tokens += tokens
		if i+1 >= p.First && i+1 <= p.Last {
			p.Contents = append(p.Contents, shownContent{i + 1, content.Role, tokens, showLines(lines)})
		}
	}
}

// showLog puts the events on the page of which the prompt was made, each with
// what became of it for this reader.
func (p *promptPage) showLog(k key, events []*session.Event, skip int) {
	p.LogLink = k.link("session")
	last := max(0, len(events)-skip)
	for i, entry := range logview.Read(events) {
		state, class := p.stateOf(entry)
		switch class {
		case string(logview.Summary):
			p.Summaries++
		case string(logview.Covered):
			p.Covered++
		case hidden:
			p.Hidden++
		}
		if i < last && i >= last-contentsOnPage {
			shown := showEvent(k, entry)
			shown.State, shown.Class = state, class
			p.Log = append(p.Log, shown)
		}
	}
}

// hidden is the class of events that this reader does not see whatever became
// of them.
const hidden = "hidden"

func (p *promptPage) stateOf(entry *logview.Entry) (state, class string) {
	e := entry.Event
	switch {
	case e.IsolationScope != p.Scope || !icontext.SeesBranch(p.Branch, e.Branch):
		return "not for this reader", hidden
	case p.Raw && e.Actions.Compaction != nil:
		return "summary, not used here", hidden
	case p.Raw && entry.State == logview.Covered:
		return "", string(logview.Shown)
	}
	return states[entry.State], string(entry.State)
}
