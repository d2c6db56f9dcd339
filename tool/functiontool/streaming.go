package functiontool

import (
	"fmt"
	"iter"
	"strings"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/tool"
)

// StreamingFunc is a function that answers in pieces of text. An error ends
// the stream.
type StreamingFunc[TArgs any] func(agent.Context, TArgs) iter.Seq2[string, error]

// NewStreaming is New for a handler that answers in pieces. The model is told
// the answer when it is whole: {"result": all pieces, joined}. An error, or a
// context that is done between two pieces, is the answer in place of them.
func NewStreaming[TArgs any](cfg Config, handler StreamingFunc[TArgs]) (tool.Tool, error) {
	if handler == nil {
		return nil, fmt.Errorf("functiontool: tool %q: no handler", cfg.Name)
	}
	return New(cfg, func(ctx agent.Context, args TArgs) (string, error) {
		var whole strings.Builder
		for piece, err := range handler(ctx, args) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return "", err
			}
			whole.WriteString(piece)
		}
		return whole.String(), nil
	})
}
