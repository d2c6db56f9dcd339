package inspector

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// protect sets the headers that every answer has.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func isReading(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// What a request may measure, in bytes.
const (
	maxQuery = 8192
	maxValue = 2048
)

// request is a request whose form is in order.
type request struct {
	*http.Request
	w     http.ResponseWriter
	query url.Values
	apps  []string
}

func newRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	if !isReading(r) {
		return nil, problem{http.StatusMethodNotAllowed, "The inspector only shows; it changes nothing."}
	}
	if len(r.URL.RawQuery) > maxQuery {
		return nil, problem{http.StatusRequestURITooLong, "The address is too long."}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformed("The query cannot be read.")
	}
	for name, values := range query {
		for _, value := range values {
			if len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				return nil, malformed("The parameter %.40q is too long or no text.", name)
			}
		}
		if len(values) > 1 {
			return nil, malformed("The parameter %.40q is there twice.", name)
		}
	}
	return &request{Request: r, w: w, query: query}, nil
}

func malformed(format string, args ...any) problem {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// time is a parameter that is a time, zero if it is not there.
func (r *request) time(name string) (time.Time, error) {
	text := r.query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, malformed("The parameter %q is no time such as 2026-01-31T12:00:00Z.", name)
	}
	return t, nil
}

// number is a parameter that is a count, zero if it is not there.
func (r *request) number(name string) (int, error) {
	text := r.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<30 {
		return 0, malformed("The parameter %q is no number.", name)
	}
	return n, nil
}

const cookieName = "recap-inspector"

// admit finds out whether the request may be answered. It reports true if it
// has answered it: a token in the address gives way to a cookie.
func (h *handler) admit(r *request) (done bool, err error) {
	if h.Token == "" {
		return false, h.checkHost(r)
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if !same(bearer, h.Token) {
			return false, problem{http.StatusUnauthorized, "The token is not the right one."}
		}
		return false, nil
	}
	if r.query.Has("token") {
		if !same(r.query.Get("token"), h.Token) {
			return false, problem{http.StatusUnauthorized, "The token is not the right one."}
		}
		h.letIn(r)
		return true, nil
	}
	if cookie, err := r.Cookie(cookieName); err == nil && same(cookie.Value, h.ticket) {
		return false, nil
	}
	return false, problem{http.StatusUnauthorized, "This page needs the token with which the inspector was started."}
}

// letIn sets the cookie and has the browser ask again without the token, which
// would otherwise stay in its history.
func (h *handler) letIn(r *request) {
	http.SetCookie(r.w, &http.Cookie{
		Name: cookieName, Value: h.ticket, HttpOnly: true, Secure: r.TLS != nil,
		// Not Strict: the link with the token may stand on another page.
		SameSite: http.SameSiteLaxMode,
	})
	query := r.query
	query.Del("token")
	r.w.Header().Set("Location", "?"+query.Encode())
	r.w.WriteHeader(http.StatusSeeOther)
}

// same compares in a time that tells nothing of what is wanted.
func same(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// checkHost refuses names that do not belong to this machine where that is who
// is let in.
func (h *handler) checkHost(r *request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !isLoopback(hostOf(local.String())) {
		return nil
	}
	if host := hostOf(r.Host); !isLoopback(host) && !slices.ContainsFunc(h.Hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return problem{http.StatusForbidden, "The inspector is not addressed by a name of this machine."}
	}
	return nil
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.Trim(host, "[]")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
