package logtext_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recap-adk/recap/internal/logtext"
)

func ExampleParse() {
	events, err := logtext.Parse(`
		i1 1 user: Where is my order?
		i1 2 scout@root.scout: call a find {"order": 7741}
		c1 3 summary 1-1: The user asked for the order.
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range events {
		fmt.Printf("%s %s %v %s branch %q summary %q\n", e.ID, e.InvocationID, e.Timestamp.Sub(logtext.Base), e.Author, e.Branch, e.Actions.Compaction.Text())
	}
	// Output:
	// e1 i1 1s user branch "" summary ""
	// e2 i1 2s scout branch "root.scout" summary ""
	// e3 c1 3s user branch "" summary "The user asked for the order."
}

func TestParseErrors(t *testing.T) {
	for _, bad := range []string{
		"i1 1 user",
		"i1 one user: hello",
		"i1 1 agent: call a",
		"i1 1 agent: call a find {",
		"i1 1 agent: usage many",
		"c1 1 summary: no range",
		"c1 1 summary 1-x: bad range",
		"c1 1 summary x-1: bad range",
		"c1 1 summary 1-2 without y: bad exclusion",
	} {
		if _, err := logtext.Parse("\n" + bad); err == nil || !strings.HasPrefix(err.Error(), "line 2:") {
			t.Errorf("%q: got error %v, want one for line 2", bad, err)
		}
	}
}

func TestLong(t *testing.T) {
	events := logtext.Long(8, time.Unix(0, 0))
	if len(events) != 8 || events[4].Author != "user" || events[5].Content.Parts[0].FunctionCall.ID != "call-1" {
		t.Errorf("unexpected log: %+v", events[5])
	}
}
