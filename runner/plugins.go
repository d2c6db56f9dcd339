package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/session"
)

// PluginConfig are the plugins of a runner.
type PluginConfig struct {
	// Plugins are asked in this order. See package plugin.
	Plugins []*plugin.Plugin
	// CloseTimeout bounds what closing them takes, all together. 0 means 5
	// seconds.
	CloseTimeout time.Duration
}

const defaultCloseTimeout = 5 * time.Second

func (c PluginConfig) validate() error {
	if c.CloseTimeout < 0 {
		return fmt.Errorf("PluginConfig.CloseTimeout is negative (%v)", c.CloseTimeout)
	}
	names := map[string]bool{}
	for i, p := range c.Plugins {
		if p == nil {
			return fmt.Errorf("PluginConfig.Plugins[%d] is nil", i)
		}
		if names[p.Name()] {
			return fmt.Errorf("two plugins are named %q", p.Name())
		}
		names[p.Name()] = true
	}
	return nil
}

// plugins take part in the runs of a runner.
type plugins []*plugin.Plugin

// forAgents are the plugins as the contexts of a run have them.
func (ps plugins) forAgents() (all []agent.Plugin) {
	for _, p := range ps {
		all = append(all, p)
	}
	return all
}

// onUserMessage is the message as the plugins want it.
func (ps plugins) onUserMessage(run agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	for _, p := range ps {
		if callback := p.OnUserMessageCallback(); callback != nil {
			if replaced, err := callback(run, msg); replaced != nil || err != nil {
				return replaced, pluginError(p, err)
			}
		}
	}
	return msg, nil
}

// beforeRun is an answer in place of the agent's, or nil.
func (ps plugins) beforeRun(run agent.InvocationContext) (*genai.Content, error) {
	for _, p := range ps {
		if callback := p.BeforeRunCallback(); callback != nil {
			if answer, err := callback(run); answer != nil || err != nil {
				return answer, pluginError(p, err)
			}
		}
	}
	return nil, nil
}

func (ps plugins) afterRun(run agent.InvocationContext) {
	for _, p := range ps {
		if callback := p.AfterRunCallback(); callback != nil {
			callback(run)
		}
	}
}

// onEvent is event as the plugins want it stored: event itself, which they may
// have changed, or another.
func (ps plugins) onEvent(run agent.InvocationContext, event *session.Event) (*session.Event, error) {
	for _, p := range ps {
		if callback := p.OnEventCallback(); callback != nil {
			if replaced, err := callback(run, event); replaced != nil || err != nil {
				return replaced, pluginError(p, err)
			}
		}
	}
	return event, nil
}

// replace makes event what a plugin returned. Its agent, which goes on from it,
// knows it by its ID.
func replace(event *session.Event, by session.Event) {
	by.ID = event.ID
	by.InvocationID = event.InvocationID
	by.Timestamp = event.Timestamp
	by.Author = cmp.Or(by.Author, event.Author)
	by.Branch = event.Branch
	by.IsolationScope = event.IsolationScope
	by.Partial = event.Partial
	*event = by
}

// rewriteSummary has the application and then the plugins change the text of a
// summary before it is stored. Plugins are shown it as the event that it will
// be in.
func (r *Runner) rewriteSummary(own func(context.Context, string) (string, error)) func(context.Context, string) (string, error) {
	return func(ctx context.Context, text string) (_ string, err error) {
		if own != nil {
			if text, err = own(ctx, text); err != nil {
				return "", err
			}
		}
		s, _ := ctx.Value(sessionKey{}).(session.Session)
		run := r.invocation(ctx, s, r.cfg.Agent, nil, agent.RunConfig{})
		event := session.NewEvent(run, run.InvocationID())
		event.Author = "user"
		event.Actions.Compaction = &session.EventCompaction{CompactedContent: genai.NewContentFromText(text, genai.RoleModel)}
		if event, err = r.plugins.onEvent(run, event); err != nil {
			return "", err
		}
		return summaryText(event, text), nil
	}
}

// sessionKey is where a context has the session that is compacted in it.
type sessionKey struct{}

func withSession(ctx context.Context, s session.Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// summaryText is the text of the summary in event, or else text: a plugin may
// change a summary and not remove it.
func summaryText(event *session.Event, text string) string {
	if event.Actions.Compaction == nil || event.Actions.Compaction.CompactedContent == nil {
		return text
	}
	var b strings.Builder
	for _, part := range event.Actions.Compaction.CompactedContent.Parts {
		if part != nil && !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// close closes the plugins and waits for it, at most timeout. Whatever does not
// heed that goes on alone.
func (ps plugins) close(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(timeout, defaultCloseTimeout))
	defer cancel()
	var failures []error
	for _, p := range ps {
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		select {
		case err := <-closed:
			failures = append(failures, pluginError(p, err))
		case <-ctx.Done():
			failures = append(failures, pluginError(p, errors.New("it was not closed in time")))
		}
	}
	return errors.Join(failures...)
}

func pluginError(p *plugin.Plugin, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("runner: plugin %q: %w", p.Name(), err)
}
