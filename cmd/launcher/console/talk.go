package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/runner"
)

// talk is a conversation.
type talk struct {
	runner        *runner.Runner
	user, session string
	config        agent.RunConfig
	input         *lines
	screen        *screen
}

// errQuit says that the user wants to leave.
var errQuit = errors.New("the user left")

// run takes turns until the user leaves, the input ends or ctx is done.
func (t *talk) run(ctx context.Context) error {
	for {
		line, err := t.ask(ctx, "> ")
		if err == nil && line != "" {
			err = t.turn(ctx, genai.NewContentFromText(line, genai.RoleUser))
		}
		switch {
		case t.screen.err != nil:
			return fmt.Errorf("console: writing: %w", t.screen.err)
		case errors.Is(err, errQuit):
			return nil
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			t.screen.line("") // after the prompt
			return nil
		case err != nil:
			return fmt.Errorf("console: reading: %w", err)
		}
	}
}

// ask returns the line that the user answers, without the space around it.
func (t *talk) ask(ctx context.Context, prompt string) (string, error) {
	t.screen.prompt(prompt)
	line, err := t.input.read(ctx)
	line = strings.TrimSpace(line)
	if line == "/quit" {
		return "", errQuit
	}
	return line, err
}

// turn has a message answered, and then the answers to the questions that come
// up on the way.
func (t *talk) turn(ctx context.Context, message *genai.Content) error {
	var open questions
	for messages := []*genai.Content{message}; len(messages) > 0; {
		for _, message := range messages {
			if err := t.send(ctx, message, &open); err != nil {
				return err
			}
		}
		var err error
		if messages, err = t.answers(ctx, &open); err != nil {
			return err
		}
	}
	return nil
}

// send runs the agent on a message. The error is that of ctx: others are shown.
func (t *talk) send(ctx context.Context, message *genai.Content, open *questions) error {
	defer t.screen.reset()
	for event, err := range t.runner.Run(ctx, t.user, t.session, message, t.config) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case t.screen.err != nil:
			return t.screen.err
		case err != nil:
			t.screen.line("error: " + err.Error())
			return nil
		}
		t.screen.show(event)
		open.add(event)
	}
	return ctx.Err()
}

// answers asks the user what is open. Consent goes first: a call that waits for
// it has not been made.
func (t *talk) answers(ctx context.Context, open *questions) ([]*genai.Content, error) {
	var answers replies
	for _, q := range open.takeConfirmations() {
		confirmed, err := t.confirm(ctx, q)
		if err != nil {
			return nil, err
		}
		if !confirmed {
			open.drop(q.original.ID)
		}
		answers.add(q, map[string]any{"confirmed": confirmed})
	}
	if len(answers) > 0 {
		return answers.messages(), nil
	}
	for _, q := range open.takeWaiting() {
		text, err := t.ask(ctx, fmt.Sprintf("%s waits for an answer (nothing: later): ", q.name))
		if err != nil {
			return nil, err
		}
		if text != "" {
			answers.add(q, responseOf(text))
		}
	}
	return answers.messages(), nil
}

// confirm puts a question until it is answered with yes or no.
func (t *talk) confirm(ctx context.Context, q question) (bool, error) {
	if q.hint != "" {
		t.screen.line(q.hint)
	}
	for {
		text, err := t.ask(ctx, fmt.Sprintf("Allow %s? (yes/no) ", callText(q.original)))
		if err != nil {
			return false, err
		}
		switch strings.ToLower(text) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}
