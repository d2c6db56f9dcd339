// Package inspector shows people what is in the sessions of an application,
// what a model is sent of them, and why: as web pages that work without
// JavaScript and change nothing.
//
//	handler, err := inspector.New(inspector.Config{SessionService: sessions, AppNames: []string{"shop"}})
//	...
//	http.Handle("/inspector/", http.StripPrefix("/inspector", handler))
//
// The pages:
//
//	/          the sessions, with a search and page by page
//	/session   the log of one: each summary around what it stands in for
//	/prompt    what the model of an agent is sent, beside the log
//	/chart     the tokens of each turn's prompt, as it was and without compaction
//	/event     one event as JSON
//	/download  a session as JSON, in the form of ADK's web interfaces
//
// Links between them are relative, so that the handler can be anywhere. A
// session is named in the query, as its ID may hold any character.
//
// No page reads more of a log than it shows, as long as the newest compaction
// event is this module's: what is active is told by its manifest. Of a long log
// of another origin the pages tell what they did not look at, and offer to.
//
// What is in a session is what users and tools wrote. It is shown as text; the
// pages allow no script at all, and load nothing from elsewhere. Who may see
// them is for Config.Token, or for the application that mounts the handler.
package inspector

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/recap-adk/recap/session"
)

// Config says what is shown and to whom.
type Config struct {
	// SessionService has the sessions. Only Get and List are called.
	SessionService session.Service
	// AppNames are the applications whose sessions are shown; no others are.
	AppNames []string
	// ListApps, if AppNames is empty, is asked at each request instead. It is
	// called concurrently.
	ListApps func(context.Context) ([]string, error)
	// Token, if not empty, must come with every request: as bearer in the
	// header Authorization or, from a browser, once as the parameter "token",
	// which a cookie stands in for from then on.
	Token string
	// Hosts are names, without port, by which the handler may be addressed
	// where it has no Token and listens on a loopback address, beside
	// localhost and loopback addresses. Any other is refused there, as a page
	// from elsewhere might have had its own name point to this machine.
	Hosts []string
	// Logger is told of failures of the service; nil is slog's default.
	Logger *slog.Logger
}

// New returns a handler that shows sessions. It keeps no goroutine and nothing
// between requests. It answers GET and HEAD and no other method.
func New(cfg Config) (http.Handler, error) {
	switch {
	case cfg.SessionService == nil:
		return nil, errors.New("inspector: Config.SessionService is nil")
	case len(cfg.AppNames) == 0 && cfg.ListApps == nil:
		return nil, errors.New("inspector: Config has neither AppNames nor ListApps")
	case slices.Contains(cfg.AppNames, ""):
		return nil, errors.New("inspector: one of Config.AppNames is empty")
	}
	cfg.AppNames, cfg.Hosts = slices.Clone(cfg.AppNames), slices.Clone(cfg.Hosts)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &handler{Config: cfg, pages: parsePages(), ticket: rand.Text()}, nil
}

type handler struct {
	Config
	pages  pages
	ticket string // what the cookie holds in place of the token
}

//go:embed static
var static embed.FS

// assets are the files that are served as they are.
var assets = map[string]string{"/style.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml"}

// routes are the pages that show something of the sessions.
var routes = map[string]func(*handler, *request) error{
	"/":         (*handler).sessions,
	"/session":  (*handler).timeline,
	"/prompt":   (*handler).prompt,
	"/chart":    (*handler).chart,
	"/event":    (*handler).event,
	"/download": (*handler).download,
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if kind, ok := assets[r.URL.Path]; ok && isReading(r) {
		// They tell nothing, and the page that asks for the token needs them.
		data, err := static.ReadFile("static" + r.URL.Path)
		if err != nil {
			panic(err) // it is embedded
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "max-age=300")
		_, _ = w.Write(data)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if err := h.serve(w, r); err != nil {
		h.fail(w, r, err)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	req, err := newRequest(w, r)
	if err != nil {
		return err
	}
	done, err := h.admit(req)
	if done || err != nil {
		return err
	}
	show, ok := routes[r.URL.Path]
	if !ok {
		return problem{http.StatusNotFound, "There is no such page."}
	}
	if req.apps, err = h.apps(r.Context()); err != nil {
		return err
	}
	return show(h, req)
}

func (h *handler) apps(ctx context.Context) ([]string, error) {
	if len(h.AppNames) > 0 {
		return h.AppNames, nil
	}
	names, err := h.ListApps(ctx)
	if err != nil {
		return nil, fmt.Errorf("the names of the applications: %w", err)
	}
	return names, nil
}

// problem is what is wrong with a request, for the one who made it.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

// fail answers with an error. What failed in the service is logged and not
// shown, as it may name hosts and users.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p problem
	switch {
	case errors.As(err, &p):
	case errors.Is(err, session.ErrNotFound):
		p = problem{http.StatusNotFound, "There is no such session."}
	case r.Context().Err() != nil:
		return // nobody listens
	default:
		h.Logger.ErrorContext(r.Context(), "inspector", "path", r.URL.Path, "error", err)
		p = problem{http.StatusInternalServerError, "The sessions could not be read. The log of the server says why."}
	}
	if p.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "GET, HEAD")
	}
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="inspector"`)
	}
	page := errorPage{Status: p.status, Text: p.text, AskToken: p.status == http.StatusUnauthorized}
	page.Title = http.StatusText(p.status)
	if err := h.pages.write(w, p.status, "error.html", page); err != nil {
		h.Logger.ErrorContext(r.Context(), "inspector", "path", r.URL.Path, "error", err)
	}
}

type errorPage struct {
	head
	Status   int
	Text     string
	AskToken bool
}
