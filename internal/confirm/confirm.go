// Package confirm is how a tool gets the user's consent before it does
// something.
//
//	if err := confirm.Ask(ctx, "refund", func() bool { return amount > 100 }); err != nil {
//		return nil, err // asked for, or refused
//	}
//
// The first time the question goes out with the event of the call and the tool
// does not run. When the user has answered, the call is made again with the
// answer in its context.
package confirm

import (
	"errors"
	"fmt"

	"github.com/recap-adk/recap/agent"
)

// The errors of package tool, which exports them.
var (
	ErrRequired = errors.New("it needs the user's confirmation, which was asked for")
	ErrRejected = errors.New("the user did not confirm it")
)

// Ask returns nil if the tool may run: it needs no consent, or has it. Else the
// error is ErrRequired, and the user will be asked, or ErrRejected. required is
// not called where the user has answered.
func Ask(ctx agent.Context, toolName string, required func() bool) error {
	if answer := ctx.ToolConfirmation(); answer != nil {
		if !answer.Confirmed {
			return fmt.Errorf("tool %q was not run: %w", toolName, ErrRejected)
		}
		return nil
	}
	if !required() {
		return nil
	}
	hint := fmt.Sprintf("May the tool %s be called? Answer this call with a ToolConfirmation.", toolName)
	if err := ctx.RequestConfirmation(hint, nil); err != nil {
		return fmt.Errorf("tool %q was not run: %w", toolName, err)
	}
	return fmt.Errorf("tool %q was not run: %w", toolName, ErrRequired)
}
