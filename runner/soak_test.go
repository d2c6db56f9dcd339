package runner_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

var soakTurns = flag.Int("soak", 2000, "turns of TestSoak")

// TestSoak runs turns of 50 sessions at once while the summarizer fails, hangs,
// rambles and panics at random. No turn fails or waits for a summarizer, no
// event is lost, and no goroutine is left (see TestMain). With -soak=20000 it
// runs as many turns.
func TestSoak(t *testing.T) {
	t.Run("window", func(t *testing.T) {
		// Some hang longer than any turn may take.
		soak(t, *soakTurns, says(t, "an answer that is long enough to be worth a summary"), compaction.Config{CompactionInterval: 3, OverlapSize: 1})
	})
	t.Run("threshold", func(t *testing.T) {
		a, err := llmagent.New(llmagent.Config{Name: "agent", Model: modeltest.Echo{}})
		if err != nil {
			t.Fatal(err)
		}
		soak(t, *soakTurns/4, a, compaction.Config{CompactionInterval: 5, OverlapSize: 1, TokenThreshold: 250, EventRetentionSize: 4})
	})
}

// soak plays turns of the agent while cfg, with a summarizer of that kind,
// compacts.
func soak(t *testing.T, soakTurns int, a agent.Agent, cfg compaction.Config) {
	const sessions = 50
	var hanging atomic.Int32
	summarizer := summarizerFunc(func(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
		say := func(text string) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{Content: genai.NewContentFromText(text, genai.RoleModel)}, nil
		}
		switch rand.IntN(8) {
		case 0:
			return compaction.SummarizeResult{}, errors.New("down")
		case 1:
			panic("no way")
		case 2:
			return say(strings.Repeat("and so on ", 500))
		case 3:
			return compaction.SummarizeResult{}, nil
		case 4:
			hanging.Add(1)
			defer hanging.Add(-1)
			<-ctx.Done()
			return compaction.SummarizeResult{}, ctx.Err()
		}
		return say(fmt.Sprintf("what %d events say", len(events)))
	})
	cfg.Timeout, cfg.Summarizer = 20*time.Millisecond, summarizer
	service := session.InMemoryService()
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: service, AutoCreateSession: true,
		CompactionConfig: &cfg,
	})
	if err != nil {
		t.Fatal(err)
	}
	var turns atomic.Int64
	var wg sync.WaitGroup
	counts := make([]atomic.Int64, sessions)
	for range 8 {
		wg.Go(func() {
			for turns.Add(1) <= int64(soakTurns) {
				id := rand.IntN(sessions)
				message := genai.NewContentFromText("a question that is long enough to be worth a summary", genai.RoleUser)
				for _, err := range r.Run(t.Context(), "ada", fmt.Sprint(id), message, agent.RunConfig{}) {
					if err != nil {
						t.Errorf("a turn failed: %v", err)
						return
					}
				}
				counts[id].Add(1)
			}
		})
	}
	wg.Wait()
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := hanging.Load(); n != 0 {
		t.Errorf("%d summarizers are still at work after Close", n)
	}
	summaries := 0
	for id := range sessions {
		got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: fmt.Sprint(id)})
		if err != nil {
			if counts[id].Load() > 0 {
				t.Error(err)
			}
			continue
		}
		var raw int64
		var last time.Time
		for e := range got.Session.Events().All() {
			if !e.Timestamp.After(last) {
				t.Errorf("session %d: event %s is not later than the one before", id, e.ID)
			}
			last = e.Timestamp
			if e.Actions.Compaction != nil {
				summaries++
			} else {
				raw++
			}
		}
		if want := 2 * counts[id].Load(); raw != want {
			t.Errorf("session %d: %d events are stored, want %d", id, raw, want)
		}
	}
	if summaries == 0 {
		t.Error("nothing was ever summarized")
	}
	t.Logf("%d turns, %d summaries", soakTurns, summaries)
}
