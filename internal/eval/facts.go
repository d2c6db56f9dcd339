package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
)

// Kinds are those of planted facts.
var Kinds = []string{"number", "id", "date", "amount", "path", "handle", "name", "preference"}

// Fact is something that is said once in a conversation.
type Fact struct {
	// Kind is one of Kinds, Source who states it: "user", "tool" or "agent".
	Kind, Source string
	// Turn is where, from 1.
	Turn int
	// Value is what is to be remembered. It stands in the conversation once.
	Value string
	// Question asks for it, and Query is what a model would look up for it: what
	// the question is about. Neither contains the value.
	Question, Query string
}

// Plan says what conversation Plant makes.
type Plan struct {
	Turns, Facts int
	Seed         uint64
	// UserOnly has the user state all facts, for a conversation in which the
	// model's answers are its own.
	UserOnly bool
}

// MaxFacts is how many facts a conversation can have: there are no more
// preferences than that.
var MaxFacts = len(Kinds) * len(preferences)

func (p Plan) check() error {
	switch {
	case p.Facts < 1 || p.Facts > MaxFacts:
		return fmt.Errorf("there can be 1 to %d facts, not %d", MaxFacts, p.Facts)
	case p.Turns < p.Facts || p.Turns > 10000:
		return fmt.Errorf("%d facts need %d to 10000 turns, not %d", p.Facts, p.Facts, p.Turns)
	}
	return nil
}

// Plant makes a conversation with facts in it, spread over talk about other
// things. The same plan gives the same conversation.
func Plant(p Plan) (*conversation.Conversation, []Fact, error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	g := &generator{rand: rand.New(rand.NewPCG(p.Seed, 0x7ec4)), used: map[string]bool{}}
	turns := g.rand.Perm(p.Turns)[:p.Facts]
	slices.Sort(turns)
	kinds := make([]string, p.Facts)
	for i := range kinds {
		kinds[i] = Kinds[i%len(Kinds)]
	}
	g.rand.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	g.preferences = g.rand.Perm(len(preferences))

	c := &conversation.Conversation{Format: "planted", System: instruction}
	var facts []Fact
	for turn := range p.Turns {
		if len(facts) == len(turns) || turns[len(facts)] != turn {
			c.Turns = append(c.Turns, g.filler())
			continue
		}
		f, played := g.fact(kinds[len(facts)], p.UserOnly)
		f.Turn = turn + 1
		facts = append(facts, f)
		c.Turns = append(c.Turns, played)
	}
	return c, facts, nil
}

// generator draws without replacement what must be told apart.
type generator struct {
	rand        *rand.Rand
	used        map[string]bool
	preferences []int
	made        int // facts
}

func pick[T any](g *generator, list []T) T { return list[g.rand.IntN(len(list))] }

// once draws until it gets what was not drawn before.
func (g *generator) once(draw func() string) string {
	for {
		if s := draw(); !g.used[s] {
			g.used[s] = true
			return s
		}
	}
}

// fact makes a fact and the turn in which it is stated.
func (g *generator) fact(kind string, userOnly bool) (Fact, conversation.Turn) {
	g.made++
	if kind == "preference" {
		p := preferences[g.preferences[0]]
		g.preferences = g.preferences[1:]
		value := pick(g, p.values)
		f := Fact{Kind: kind, Source: "user", Value: value, Query: p.topic, Question: fmt.Sprintf(pick(g, preferenceQuestions), p.topic)}
		return f, g.stated(fmt.Sprintf(pick(g, preferenceStatements), p.topic, value))
	}
	var thing, owner string
	g.once(func() string {
		thing, owner = pick(g, things[kind]), pick(g, owners)
		return thing + " of " + owner
	})
	what := "the " + thing + " of " + owner
	f := Fact{Kind: kind, Query: thing + " of " + owner, Value: g.once(func() string { return g.value(kind) })}
	f.Question = fmt.Sprintf(pick(g, questions), what)
	shown := f.Value
	if kind == "name" {
		shown = `"` + shown + `"`
	}
	f.Source = []string{"user", "tool", "user", "agent", "user"}[g.rand.IntN(5)]
	if userOnly {
		f.Source = "user"
	}
	switch f.Source {
	case "tool":
		return f, g.found(thing, owner, f.Value)
	case "agent":
		t := conversation.Turn{
			User:  said(genai.RoleUser, g.join(fmt.Sprintf(pick(g, requests), what), g.small())),
			Steps: []conversation.Step{{Content: said(genai.RoleModel, g.join(fmt.Sprintf(pick(g, settled), what, shown), g.answer(pick(g, domains), 1)))}},
		}
		return f, t
	}
	return f, g.stated(fmt.Sprintf(pick(g, statements), what, shown))
}

// stated is a turn in which the user says something between other things.
func (g *generator) stated(statement string) conversation.Turn {
	d := pick(g, domains)
	parts := []string{g.user(d), statement}
	if g.rand.IntN(2) == 0 {
		parts = []string{statement, g.user(d)}
	}
	return conversation.Turn{
		User:  said(genai.RoleUser, g.join(parts...)),
		Steps: []conversation.Step{{Content: said(genai.RoleModel, g.join(pick(g, acknowledgements), g.answer(d, 2)))}},
	}
}

// found is a turn in which a tool's result has the value, and nobody says it.
func (g *generator) found(thing, owner, value string) conversation.Turn {
	id := fmt.Sprintf("call-%d", g.made)
	call := &genai.FunctionCall{ID: id, Name: "look_up", Args: map[string]any{"what": thing, "of": owner}}
	return conversation.Turn{
		User: said(genai.RoleUser, g.join("Please look up the "+thing+" of "+owner+".", g.small())),
		Steps: []conversation.Step{{
			Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}},
			Results: []conversation.Result{{CallID: id, Name: call.Name, Response: map[string]any{
				"record": owner, strings.ReplaceAll(thing, " ", "_"): value, "checked": true, "remarks": g.answer(pick(g, domains), 1),
			}}},
		}, {Content: said(genai.RoleModel, g.join("I have found it, the record is complete.", g.small()))}},
	}
}

// filler is a turn that states nothing that is asked for.
func (g *generator) filler() conversation.Turn {
	d := pick(g, domains)
	user := []string{g.user(d)}
	if g.rand.IntN(3) == 0 {
		user = append(user, g.small())
	}
	return conversation.Turn{
		User:  said(genai.RoleUser, g.join(user...)),
		Steps: []conversation.Step{{Content: said(genai.RoleModel, g.answer(d, 2+g.rand.IntN(3)))}},
	}
}

func (g *generator) join(parts ...string) string { return strings.Join(parts, " ") }

func said(role, text string) *genai.Content {
	return genai.NewContentFromText(text, genai.Role(role))
}

func (g *generator) user(d domain) string { return g.fill(pick(g, d.user), d) }

// small is talk that names what facts are about, but tells nothing of it.
func (g *generator) small() string {
	kind := pick(g, Kinds[:len(Kinds)-1])
	return strings.NewReplacer("{thing}", pick(g, things[kind]), "{owner}", pick(g, owners)).Replace(pick(g, smallTalk))
}

func (g *generator) answer(d domain, sentences int) string {
	var parts []string
	for _, i := range g.rand.Perm(len(d.agent))[:min(sentences, len(d.agent))] {
		parts = append(parts, g.fill(d.agent[i], d))
	}
	return g.join(parts...)
}

// fill puts words of the domain in the place of each "_".
func (g *generator) fill(template string, d domain) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(template, "_")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString(pick(g, d.words))
		template = after
	}
}

func (g *generator) value(kind string) string {
	n := func(from, to int) int { return from + g.rand.IntN(to-from) }
	letter := func() rune { return rune('A' + g.rand.IntN(26)) }
	switch kind {
	case "number":
		return fmt.Sprint(n(10000, 99999))
	case "id":
		return fmt.Sprintf("%c%c-%d-%c", letter(), letter(), n(1000, 9999), letter())
	case "date":
		year, month, day := n(2026, 2031), n(1, 13), n(1, 29)
		if g.rand.IntN(2) == 0 {
			return fmt.Sprintf("%d-%02d-%02d", year, month, day)
		}
		return fmt.Sprintf("%d %s %d", day, months[month-1], year)
	case "amount":
		return fmt.Sprintf("%s%d,%03d.%02d", pick(g, []string{"$", "€", "£"}), n(1, 9), n(0, 1000), n(0, 100))
	case "path":
		return fmt.Sprintf("/srv/%s/%s-%d.%s", pick(g, nouns), pick(g, nouns), n(1000, 9999), pick(g, []string{"csv", "pdf", "txt", "zip"}))
	case "handle":
		return fmt.Sprintf("%s.%s%d@%s.example", pick(g, nouns), pick(g, nouns), n(10, 99), pick(g, nouns))
	}
	noun := pick(g, nouns)
	return pick(g, adjectives) + " " + strings.ToUpper(noun[:1]) + noun[1:]
}
