package compaction_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
)

// TestRewriteSummary: the application may change the text of every summary,
// also of an extract that stands in, and nothing but the text.
func TestRewriteSummary(t *testing.T) {
	for name, summarizer := range map[string]compaction.Summarizer{
		"summarizer": says("The card is 7447."),
		"extract": &fake{answer: func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{}, errors.New("down")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			service, handle := stored(t, strings.Replace(overThreshold, "one", "my card is 7447, and I would like to pay with it", 1))
			c := newCompactor(t, &compaction.Config{
				TokenThreshold: 100, EventRetentionSize: 1, Summarizer: summarizer,
				RewriteSummary: func(_ context.Context, text string) (string, error) {
					return strings.ReplaceAll(text, "7447", "[card]"), nil
				},
			}, service)
			if !c.BeforeModel(t.Context(), promptFor(handle, "i2")) {
				t.Fatal("not compacted")
			}
			log := reread(t, service)
			text := log.Events().At(log.Events().Len() - 1).Actions.Compaction.Text()
			if strings.Contains(text, "7447") || !strings.Contains(text, "[card]") {
				t.Errorf("stored: %q", text)
			}
		})
	}
	for name, rewrite := range map[string]func(context.Context, string) (string, error){
		"an error": func(context.Context, string) (string, error) { return "", errors.New("no") },
		"a panic":  func(context.Context, string) (string, error) { panic("no") },
		"no text":  func(context.Context, string) (string, error) { return " ", nil },
	} {
		service, handle := stored(t, twoTurns)
		c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: says("S"), RewriteSummary: rewrite}, service)
		if o := c.MaybeCompact(t.Context(), handle); o.Kind == compaction.Applied || reread(t, service).Events().Len() != 4 {
			t.Errorf("%s: %v", name, o)
		}
	}
}

// TestHangingOnATurn: on a turn a summarizer that does not return is given up on
// after the timeout, and an extract stands in.
func TestHangingOnATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, handle := stored(t, overThreshold)
		c := newCompactor(t, &compaction.Config{TokenThreshold: 100, EventRetentionSize: 1, Timeout: time.Minute, Summarizer: &fake{
			answer: func(ctx context.Context, _ []*session.Event) (compaction.SummarizeResult, error) {
				<-ctx.Done()
				return compaction.SummarizeResult{}, ctx.Err()
			},
		}}, service)
		began := time.Now()
		if !c.BeforeModel(t.Context(), promptFor(handle, "i2")) || time.Since(began) != time.Minute {
			t.Errorf("not compacted, or after %v", time.Since(began))
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCancelled: no summarizer is asked for a context that is done.
func TestCancelled(t *testing.T) {
	service, handle := stored(t, twoTurns)
	summarizer := says("S")
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: summarizer}, service)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := c.MaybeCompact(ctx, handle); o.Kind != compaction.Failed || !errors.Is(o.Err, context.Canceled) || len(summarizer.calls()) != 0 {
		t.Errorf("%v, %d calls", o, len(summarizer.calls()))
	}
}

// foreign is a service that appends compaction events without a condition.
type foreign struct {
	session.Service
	beforeGet func(n int)
	gets      int
}

func (f *foreign) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	f.gets++
	if f.beforeGet != nil {
		f.beforeGet(f.gets)
	}
	return f.Service.Get(ctx, req)
}

// TestForeignServices: of a service that does not keep the condition on
// compaction events, the session is read again just before the append.
func TestForeignServices(t *testing.T) {
	ours, handle := stored(t, twoTurns)
	service := &foreign{Service: ours}
	service.beforeGet = func(n int) {
		if n != 2 {
			return
		}
		other := reread(t, ours)
		window, _ := compaction.SelectEventsToCompact(allEvents(other), &compaction.Config{CompactionInterval: 2})
		event := compaction.CreateCompactionEvent(t.Context(), window, compaction.SummarizeResult{Content: genai.NewContentFromText("theirs", genai.RoleModel)})
		if err := ours.AppendEvent(t.Context(), other, event); err != nil {
			t.Error(err)
		}
	}
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: says("ours")}, service)
	if o := c.MaybeCompact(t.Context(), handle); o.Kind != compaction.Superseded || !errors.Is(o.Err, session.ErrSuperseded) {
		t.Errorf("outcome %v", o)
	}
}

// forgetful is a service that stores compaction events without their record.
type forgetful struct{ session.Service }

func (f forgetful) AppendEvent(ctx context.Context, s session.Session, e *session.Event) error {
	stored := e.Clone()
	stored.Actions.Compaction = nil
	return f.Service.AppendEvent(ctx, s, stored)
}

// TestServiceDropsRecords: a service that does not keep summaries would have
// the same events summarized again and again. That is found out at once.
func TestServiceDropsRecords(t *testing.T) {
	ours, handle := stored(t, twoTurns)
	service, summarizer := forgetful{ours}, says("S")
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: summarizer}, service)
	for range 2 {
		o := c.Compact(t.Context(), handle)
		if o.Kind != compaction.Failed || !strings.Contains(o.Reason, "does not keep EventActions.Compaction") {
			t.Errorf("outcome %v", o)
		}
	}
	if n := len(summarizer.calls()); n != 1 {
		t.Errorf("the summarizer was asked %d times", n)
	}
}
