package inspector

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recap-adk/recap/session"
)

const (
	sessionsOnPage = 50
	// maxScanned is how many sessions one request looks at.
	maxScanned = 2000
)

type sessionsPage struct {
	head
	App, User, Contains string
	Apps                []string
	Sessions            []shownSession
	Next, First         string // links
	// Scanned is how many sessions a search looked at if it gave up before the end.
	Scanned int
}

type shownSession struct {
	key
	Updated time.Time
	Link    string
}

// sessions is the page with the sessions of one application.
func (h *handler) sessions(r *request) error {
	page := sessionsPage{App: r.query.Get("app"), User: r.query.Get("user"), Contains: r.query.Get("q"), Apps: r.apps}
	page.Title = "Sessions"
	if page.App == "" && len(r.apps) > 0 {
		page.App = r.apps[0]
	}
	if len(r.apps) == 0 {
		return h.pages.write(r.w, http.StatusOK, "sessions.html", page)
	}
	if !slices.Contains(r.apps, page.App) {
		return problem{http.StatusNotFound, "There is no such application."}
	}
	token := r.query.Get("page")
	if token != "" {
		if _, _, _, err := session.ParsePageToken(token); err != nil {
			return malformed("The parameter \"page\" is not from a list of sessions.")
		}
		page.First = page.link("")
	}
	next, err := h.search(r.Context(), &page, token)
	if err != nil {
		return err
	}
	if next != "" {
		page.Next = page.link(next)
	}
	return h.pages.write(r.w, http.StatusOK, "sessions.html", page)
}

func (p *sessionsPage) link(token string) string {
	query := url.Values{"app": {p.App}}
	for name, value := range map[string]string{"user": p.User, "q": p.Contains, "page": token} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "./?" + query.Encode()
}

// search fills the page with sessions and returns the token of the next one.
func (h *handler) search(ctx context.Context, page *sessionsPage, token string) (next string, err error) {
	req := &session.ListRequest{AppName: page.App, UserID: page.User, PageSize: sessionsOnPage, PageToken: token}
	if page.Contains != "" {
		req.PageSize = 4 * sessionsOnPage
	}
	for scanned := 0; ; {
		list, err := h.SessionService.List(ctx, req)
		if err != nil {
			return "", err
		}
		for i, s := range list.Sessions {
			if !strings.Contains(s.ID(), page.Contains) && !strings.Contains(s.UserID(), page.Contains) {
				continue
			}
			k := key{s.AppName(), s.UserID(), s.ID()}
			page.Sessions = append(page.Sessions, shownSession{k, s.LastUpdateTime(), k.link("session")})
			last := i == len(list.Sessions)-1 && list.NextPageToken == ""
			if len(page.Sessions) == sessionsOnPage && !last {
				return session.PageToken(s), nil
			}
		}
		if req.PageToken = list.NextPageToken; req.PageToken == "" {
			return "", nil
		}
		if scanned += len(list.Sessions); scanned >= maxScanned {
			page.Scanned = scanned
			return req.PageToken, nil
		}
	}
}
