package inspector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/server/inspector"
	"github.com/recap-adk/recap/session"
)

func TestMain(m *testing.M) {
	// The client of Gemini brings a worker that never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// kitchen plays a long conversation with compaction into a new service.
func kitchen(t testing.TB) session.Service {
	t.Helper()
	c, err := conversation.Load(filepath.Join("..", "..", "examples", "conversations", "kitchen-renovation.json"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := compaction.DefaultConfig()
	cfg.Summarizer = compaction.ExtractiveSummarizer{}
	service := session.InMemoryService()
	_, err = replay.Play(t.Context(), c, replay.Options{
		Service: service, AppName: "shop", UserID: "u1", SessionID: "kitchen", Compaction: cfg, Counter: tokens.New(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func open(t testing.TB, cfg inspector.Config) http.Handler {
	t.Helper()
	if cfg.AppNames == nil && cfg.ListApps == nil {
		cfg.AppNames = []string{"shop"}
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	h, err := inspector.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// fetch is the answer to a GET.
func fetch(t testing.TB, h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// read is the body of an answer that must be a page.
func read(t testing.TB, h http.Handler, target string) string {
	t.Helper()
	w := fetch(t, h, target)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", target, w.Code, w.Body)
	}
	return w.Body.String()
}

const kitchenKey = "?app=shop&user=u1&id=kitchen"

// linkTo is where the link of that text, or of that label, leads.
func linkTo(t testing.TB, body, text string) string {
	t.Helper()
	quoted := regexp.QuoteMeta(text)
	found := regexp.MustCompile(`<a href="([^"]*)"(?: [^>]*)?>` + quoted + `(?:<span|</a>)`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("there is no link %q in %s", text, body)
	}
	return "/" + strings.TrimPrefix(html.UnescapeString(found[1]), "./")
}

func TestPages(t *testing.T) {
	h := open(t, inspector.Config{SessionService: kitchen(t)})
	list := read(t, h, "/")
	log := read(t, h, linkTo(t, list, "kitchen"))
	for _, want := range []string{"level 0", "tokens now", "of its originals are on this page", "All originals, page by page", "no model was used"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	originals := read(t, h, linkTo(t, log, "All originals, page by page"))
	if !strings.Contains(originals, "The part of the log that a summary stands in for") || !strings.Contains(originals, "in a summary") {
		t.Errorf("the originals are %s", originals)
	}
	prompt := read(t, h, linkTo(t, log, "What the model sees"))
	raw := read(t, h, linkTo(t, log, "What the model sees")+"&raw=1")
	if a, b := figure(t, prompt, "Tokens, estimated"), figure(t, raw, "Tokens, estimated"); a == 0 || a*3 > b {
		t.Errorf("the prompt has %d tokens, without compaction %d", a, b)
	}
	chart := read(t, h, linkTo(t, log, "Chart"))
	if !strings.Contains(chart, "<polyline") || !strings.Contains(chart, "The chart as a table: 49 of 49 turns") {
		t.Errorf("the chart is %s", chart)
	}
	event := fetch(t, h, linkTo(t, log, "JSON"))
	var e session.Event
	if err := json.Unmarshal(event.Body.Bytes(), &e); err != nil || e.ID == "" {
		t.Errorf("the event is %s, %v", event.Body, err)
	}
}

// figure is a number that a page shows under a name.
func figure(t *testing.T, body, name string) int {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(name) + `</dt><dd>([0-9,]+)<`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("there is no figure %q", name)
	}
	var n int
	fmt.Sscan(strings.ReplaceAll(found[1], ",", ""), &n)
	return n
}

// TestEveryEventIsReached: going back page by page shows each event once.
func TestEveryEventIsReached(t *testing.T) {
	service := session.InMemoryService()
	fill(t, service, "long", 350)
	h := open(t, inspector.Config{SessionService: service})
	seen := map[string]int{}
	pages := 0
	for target := "/session?app=shop&user=u1&id=long"; ; pages++ {
		body := read(t, h, target)
		for _, text := range regexp.MustCompile(`message \d+\.`).FindAllString(body, -1) {
			seen[text]++
		}
		if !strings.Contains(body, "Older events") {
			break
		}
		target = linkTo(t, body, "Older events")
	}
	if len(seen) != 350 || pages != 3 {
		t.Errorf("%d events on %d more pages", len(seen), pages)
	}
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q is there %d times", text, n)
		}
	}
}

// fill makes a session of n short messages.
func fill(t testing.TB, service session.Service, id string, n int) {
	t.Helper()
	created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "shop", UserID: "u1", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		e := &session.Event{Author: "user", InvocationID: fmt.Sprint("i", i), Timestamp: time.Unix(int64(1_770_000_000+i), 0)}
		e.Content = genai.NewContentFromText(fmt.Sprintf("message %d.", i), genai.RoleUser)
		if err := service.AppendEvent(t.Context(), created.Session, e); err != nil {
			t.Fatal(err)
		}
	}
}

// withTools adds a session of two agents who use tools, whose model tells what
// it was sent.
func withTools(t testing.TB, service session.Service) session.Service {
	t.Helper()
	created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "shop", UserID: "u1", SessionID: "tools", State: map[string]any{"cart": []any{"ladder"}}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("Ladders of three metres are in aisle 7. ", 40)
	for i, e := range []*session.Event{
		{Author: "user", LLMResponse: content(genai.RoleUser, &genai.Part{Text: "Where are the ladders?"})},
		{Author: "clerk", LLMResponse: content(genai.RoleModel, &genai.Part{Thought: true, Text: "I look it up."}, &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "find_aisle", Args: map[string]any{"what": "ladder", "metres": 3.0}}})},
		{Author: "clerk", LLMResponse: content(genai.RoleUser, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "find_aisle", Response: map[string]any{"answer": text}}})},
		{Author: "clerk", LLMResponse: content(genai.RoleModel, &genai.Part{Text: text})},
		{Author: "checker", Branch: "clerk.checker", LLMResponse: content(genai.RoleModel, &genai.Part{Text: "Aisle 7 is right."})},
		{Author: "clerk", LLMResponse: model.LLMResponse{ErrorCode: "SAFETY", ErrorMessage: "the answer was refused"}},
	} {
		e.InvocationID, e.Timestamp = "i1", time.Unix(int64(1_770_000_000+i), 0)
		if err := service.AppendEvent(t.Context(), created.Session, e); err != nil {
			t.Fatal(err)
		}
	}
	return service
}

func content(role string, parts ...*genai.Part) model.LLMResponse {
	return model.LLMResponse{Content: &genai.Content{Role: role, Parts: parts}}
}

// TestLongLogsTellWhatTheyDidNotLookAt, and look when asked to.
func TestLongLogsTellWhatTheyDidNotLookAt(t *testing.T) {
	service := session.InMemoryService()
	fill(t, service, "long", 450)
	h := open(t, inspector.Config{SessionService: service})
	body := read(t, h, "/prompt?app=shop&user=u1&id=long")
	whole := read(t, h, linkTo(t, body, "Look at the whole log"))
	if a, b := figure(t, body, "Contents sent"), figure(t, whole, "Contents sent"); a >= b && b != 1 {
		t.Errorf("%d contents, of the whole log %d", a, b)
	}
	if figure(t, body, "Tokens, estimated") >= figure(t, whole, "Tokens, estimated") || strings.Contains(whole, "Look at the whole log") {
		t.Error("the whole log was not read")
	}
}

// wholeReads counts the reads of a whole log.
type wholeReads struct {
	session.Service
	n int
}

func (w *wholeReads) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	if req.NumRecentEvents <= 0 && req.After.IsZero() && !req.OmitCompacted {
		w.n++
	}
	return w.Service.Get(ctx, req)
}

// TestPartialReadsShowTheSame: no page reads a whole log whose summaries tell
// what is needed, and each shows what it would if it did.
func TestPartialReadsShowTheSame(t *testing.T) {
	service := &wholeReads{Service: session.InMemoryService()}
	fillLong(t, service, "long", 1200, true)
	h := open(t, inspector.Config{SessionService: service})
	const target = "/session?app=shop&user=u1&id=long"
	pages := 0
	for partial, whole := target, target+"&whole=1"; ; pages++ {
		service.n = 0
		a := read(t, h, partial)
		if service.n != 0 {
			t.Errorf("%s read the whole log", partial)
		}
		b := read(t, h, whole)
		if service.n == 0 {
			t.Errorf("%s did not read the whole log", whole)
		}
		if b = strings.ReplaceAll(b, "&amp;whole=1", ""); a != b {
			t.Fatalf("the pages differ: %s", cmp.Diff(a, b))
		}
		if !strings.Contains(a, "Older events") {
			break
		}
		partial = linkTo(t, a, "Older events")
		whole = partial + "&whole=1"
	}
	if pages < 11 {
		t.Errorf("%d older pages", pages)
	}
	service.n = 0
	partial := read(t, h, "/prompt?app=shop&user=u1&id=long")
	if service.n != 0 {
		t.Error("the prompt took a read of the whole log")
	}
	whole := read(t, h, "/prompt?app=shop&user=u1&id=long&whole=1")
	for _, name := range []string{"Contents sent", "Tokens, estimated", "Summaries in it"} {
		if a, b := figure(t, partial, name), figure(t, whole, name); a != b || a == 0 {
			t.Errorf("%s: %d, of a whole read %d", name, a, b)
		}
	}
}

func TestSearch(t *testing.T) {
	service := session.InMemoryService()
	for i := range 120 {
		req := &session.CreateRequest{AppName: "shop", UserID: fmt.Sprint("u", i%3), SessionID: fmt.Sprintf("s%03d", i)}
		if _, err := service.Create(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t, inspector.Config{SessionService: service})
	for query, want := range map[string]int{
		"": 120, "?app=shop": 120, "?user=u1": 40, "?user=nobody": 0, "?q=s01": 10, "?q=u2": 40, "?user=u1&q=s01": 4, "?q=nothing": 0, "?q=s": 120,
	} {
		seen := map[string]bool{}
		for target := "/" + query; ; {
			body := read(t, h, target)
			for _, match := range regexp.MustCompile(`>(s\d\d\d)</a>`).FindAllStringSubmatch(body, -1) {
				if seen[match[1]] {
					t.Errorf("%q: %s is there twice", query, match[1])
				}
				seen[match[1]] = true
			}
			if !strings.Contains(body, "Next page") {
				break
			}
			target = linkTo(t, body, "Next page")
		}
		if len(seen) != want {
			t.Errorf("%q: %d sessions, want %d", query, len(seen), want)
		}
	}
}

func TestDownload(t *testing.T) {
	service := kitchen(t)
	w := fetch(t, open(t, inspector.Config{SessionService: service}), "/download"+kitchenKey)
	var file struct {
		ID     string           `json:"id"`
		Events []*session.Event `json:"events"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "shop", UserID: "u1", SessionID: "kitchen"})
	if err != nil {
		t.Fatal(err)
	}
	if file.ID != "kitchen" || len(file.Events) != got.Session.Events().Len() {
		t.Errorf("session %q with %d events", file.ID, len(file.Events))
	}
	if d := w.Header().Get("Content-Disposition"); d != "attachment; filename=session-kitchen.json" {
		t.Errorf("Content-Disposition is %q", d)
	}
}

func TestWhatIsRefused(t *testing.T) {
	h := open(t, inspector.Config{SessionService: kitchen(t)})
	long := strings.Repeat("x", 3000)
	for target, want := range map[string]int{
		"/nowhere":                                404,
		"/session/":                               404,
		"/../session" + kitchenKey:                404,
		"/static/style.css":                       404,
		"/templates/layout.html":                  404,
		"/%2e%2e/inspector.go":                    404,
		"/session":                                400,
		"/session?app=shop&user=u1":               400,
		"/session?app=shop&user=u1&id=none":       404,
		"/session?app=other&user=u1&id=kitchen":   404,
		"/session?app=shop&user=u1&id=../kitchen": 404,
		"/?app=other":                             404,
		"/?page=nonsense":                         400,
		"/?q=%ff":                                 400,
		"/?q=%00":                                 400,
		"/?q=%zz":                                 400,
		"/?q=a;b":                                 400,
		"/?q=1&q=2":                               400,
		"/?q=" + long:                             400,
		"/?a=" + long + "&b=" + long + "&c=" + long:                414,
		"/session" + kitchenKey + "&before=yesterday":              400,
		"/session" + kitchenKey + "&after=1":                       400,
		"/prompt" + kitchenKey + "&skip=-1":                        400,
		"/prompt" + kitchenKey + "&skip=99999999999999":            400,
		"/event" + kitchenKey:                                      400,
		"/event" + kitchenKey + "&at=2020-01-01T00:00:00Z&event=x": 404,
		"/download?app=shop&user=u1&id=none":                       404,
		"/chart?app=shop&user=u1&id=none":                          404,
		"/prompt?app=shop&user=u1&id=none":                         404,
	} {
		w := fetch(t, h, target)
		if w.Code != want {
			t.Errorf("%.80s: status %d, want %d", target, w.Code, want)
		}
		checkHeaders(t, w)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "NONSENSE"} {
		for _, target := range []string{"/", "/session" + kitchenKey, "/style.css", "/nowhere"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader("x")))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: status %d", method, target, w.Code)
			}
		}
	}
}

func checkHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
		t.Errorf("the policy is %q", policy)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestStoredTextIsInert: what users and tools wrote never becomes markup.
func TestStoredTextIsInert(t *testing.T) {
	h := open(t, inspector.Config{SessionService: hostile(t), AppNames: []string{evil}})
	for _, name := range []string{"session", "prompt", "chart", ""} {
		target := "/" + name + "?" + url.Values{"app": {evil}, "user": {evil}, "id": {evil}}.Encode()
		if name == "" {
			target = "/?" + url.Values{"app": {evil}, "q": {evil}}.Encode()
		}
		w := fetch(t, h, target)
		body := w.Body.String()
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", target, w.Code, body)
		}
		checkHeaders(t, w)
		if bad := regexp.MustCompile(`(?i)<script|<img|<\w+( [\w-]+="[^"]*")* on\w+=|="\s*javascript:`).FindString(body); bad != "" {
			t.Errorf("%s has %q", name, bad)
		}
		if !strings.Contains(html.UnescapeString(body), evil) {
			t.Errorf("%s does not show the text", name)
		}
	}
	w := fetch(t, h, "/download?"+url.Values{"app": {evil}, "user": {evil}, "id": {evil}}.Encode())
	if kind := w.Header().Get("Content-Type"); kind != "application/json" || strings.ContainsAny(w.Header().Get("Content-Disposition"), "<>\"'\n") {
		t.Errorf("the download is %v", w.Header())
	}
}

const evil = `"'><script>document.title="owned"</script><img src=x onerror="document.title='owned'">{{.}}javascript:alert(1)`

// hostile is a service with a session in which everything that can be text is
// an attack.
func hostile(t testing.TB) session.Service {
	t.Helper()
	service := session.InMemoryService()
	created, err := service.Create(t.Context(), &session.CreateRequest{
		AppName: evil, UserID: evil, SessionID: evil, State: map[string]any{evil: evil},
	})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(evil+" ", 30)
	for i, parts := range [][]*genai.Part{
		{{Text: evil}}, {{Text: long}},
		{{FunctionCall: &genai.FunctionCall{ID: "c", Name: evil, Args: map[string]any{evil: long}}}},
		{{FunctionResponse: &genai.FunctionResponse{ID: "c", Name: evil, Response: map[string]any{evil: evil}}}},
		{{FileData: &genai.FileData{FileURI: evil, MIMEType: evil}}, {Thought: true, Text: evil}},
	} {
		e := &session.Event{ID: fmt.Sprint(evil, i), Author: evil, InvocationID: evil, Timestamp: time.Unix(int64(1_770_000_000+i), 0)}
		e.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
		e.ErrorCode, e.ErrorMessage = evil, evil
		e.Actions.StateDelta, e.Actions.TransferToAgent = map[string]any{evil: evil}, evil
		if err := service.AppendEvent(t.Context(), created.Session, e); err != nil {
			t.Fatal(err)
		}
	}
	e := &session.Event{Author: "user", InvocationID: "c", Timestamp: time.Unix(1_770_000_100, 0)}
	e.Actions.Compaction = session.NewEventCompaction(time.Unix(1_770_000_000, 0), time.Unix(1_770_000_001, 0), genai.NewContentFromText(evil, genai.RoleModel), nil)
	if err := service.AppendEvent(t.Context(), created.Session, e); err != nil {
		t.Fatal(err)
	}
	return service
}

func TestToken(t *testing.T) {
	h := open(t, inspector.Config{SessionService: kitchen(t), Token: "s3cret"})
	for name, test := range map[string]struct {
		target string
		header []string
		want   int
	}{
		"none":                     {"/", nil, 401},
		"none, no such page":       {"/nowhere", nil, 401},
		"wrong bearer":             {"/", []string{"Authorization", "Bearer s3cre"}, 401},
		"basic":                    {"/", []string{"Authorization", "Basic s3cret"}, 401},
		"bearer":                   {"/session" + kitchenKey, []string{"Authorization", "Bearer s3cret"}, 200},
		"wrong in the address":     {"/?token=x", nil, 401},
		"empty in the address":     {"/?token=", nil, 401},
		"wrong cookie":             {"/", []string{"Cookie", "recap-inspector=s3cret"}, 401},
		"empty cookie":             {"/", []string{"Cookie", "recap-inspector="}, 401},
		"the style of the page":    {"/style.css", nil, 200},
		"download without a token": {"/download" + kitchenKey, nil, 401},
	} {
		if w := fetch(t, h, test.target, test.header...); w.Code != test.want {
			t.Errorf("%s: status %d, want %d", name, w.Code, test.want)
		}
	}
	w := fetch(t, h, "/session"+kitchenKey+"&token=s3cret")
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || len(cookies) != 1 || !cookies[0].HttpOnly || strings.Contains(w.Header().Get("Location"), "s3cret") {
		t.Fatalf("status %d, headers %v", w.Code, w.Header())
	}
	if w := fetch(t, h, "/session"+w.Header().Get("Location"), "Cookie", cookies[0].Name+"="+cookies[0].Value); w.Code != 200 {
		t.Errorf("with the cookie: status %d", w.Code)
	}
}

// TestHost: a page from elsewhere whose name leads to this machine is refused.
func TestHost(t *testing.T) {
	service := kitchen(t)
	for name, test := range map[string]struct {
		local, host string
		cfg         inspector.Config
		want        int
	}{
		"localhost":          {"127.0.0.1:80", "localhost:80", inspector.Config{}, 200},
		"loopback":           {"127.0.0.1:80", "127.0.0.1:80", inspector.Config{}, 200},
		"IPv6":               {"[::1]:80", "[::1]:80", inspector.Config{}, 200},
		"no port":            {"[::1]:80", "[::1]", inspector.Config{}, 200},
		"another name":       {"127.0.0.1:80", "evil.example:80", inspector.Config{}, 403},
		"a name that begins": {"127.0.0.1:80", "localhost.evil.example", inspector.Config{}, 403},
		"none":               {"127.0.0.1:80", "", inspector.Config{}, 403},
		"a name of ours":     {"127.0.0.1:80", "inspect.example:80", inspector.Config{Hosts: []string{"Inspect.example"}}, 200},
		"not on loopback":    {"192.0.2.1:80", "inspect.example", inspector.Config{}, 200},
		"with a token":       {"127.0.0.1:80", "inspect.example", inspector.Config{Token: "t"}, 401},
	} {
		test.cfg.SessionService = service
		local, err := net.ResolveTCPAddr("tcp", test.local)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(local)), "GET", "/", nil)
		r.Host = test.host
		w := httptest.NewRecorder()
		open(t, test.cfg).ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s: status %d, want %d", name, w.Code, test.want)
		}
	}
}

func TestMounted(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/inspector/", http.StripPrefix("/inspector", open(t, inspector.Config{SessionService: kitchen(t)})))
	server := httptest.NewServer(mux)
	defer server.Close()
	base, err := url.Parse(server.URL + "/inspector/")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := http.Head(base.String()); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("HEAD: %v, %v", r, err)
	}
	for _, name := range []string{"", "session" + kitchenKey} {
		target, err := base.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		body := load(t, target.String())
		for _, match := range regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			link, err := target.Parse(html.UnescapeString(match[1]))
			if err != nil || !strings.HasPrefix(link.Path, "/inspector/") {
				t.Errorf("%q leads to %v, %v", match[1], link, err)
				continue
			}
			load(t, link.String())
		}
	}
}

func load(t *testing.T, target string) string {
	t.Helper()
	r, err := http.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d, %v", target, r.StatusCode, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(body)
}

// broken is a service whose store is gone.
type broken struct{ session.Service }

var errSecret = errors.New("connection to db-7.internal refused")

func (broken) Get(context.Context, *session.GetRequest) (*session.GetResponse, error) {
	return nil, errSecret
}

func (broken) List(context.Context, *session.ListRequest) (*session.ListResponse, error) {
	return nil, errSecret
}

func TestFailuresAreNotShown(t *testing.T) {
	h := open(t, inspector.Config{SessionService: broken{}})
	for _, name := range []string{"/", "/session" + kitchenKey, "/prompt" + kitchenKey, "/chart" + kitchenKey, "/download" + kitchenKey} {
		if w := fetch(t, h, name); w.Code != 500 || strings.Contains(w.Body.String(), "db-7") {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
}

func TestConfig(t *testing.T) {
	service := session.InMemoryService()
	for name, cfg := range map[string]inspector.Config{
		"no service":   {AppNames: []string{"a"}},
		"no apps":      {SessionService: service},
		"an empty app": {SessionService: service, AppNames: []string{"a", ""}},
	} {
		if _, err := inspector.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "inspector: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	h := open(t, inspector.Config{SessionService: service, ListApps: func(context.Context) ([]string, error) { return nil, nil }})
	if body := read(t, h, "/"); !strings.Contains(body, "no application with sessions yet") {
		t.Errorf("the page is %s", body)
	}
}
