package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/sessionfile"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

// recap runs the command, which must succeed, and returns what it prints.
func recap(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("recap %q: exit status %d: %s", args, status, stderr.String())
	}
	return stdout.String()
}

var orders = filepath.Join("testdata", "orders.json")

// TestServers: all commands work on servers too, by the forms that a DSN has.
func TestServers(t *testing.T) {
	for name, dsnOf := range map[string]func(*testing.T) string{
		"postgres":         func(t *testing.T) string { return testdb.Postgres.Create(t) },
		"postgres://":      postgresURL,
		"mysql":            func(t *testing.T) string { return testdb.MySQL.Create(t) },
		"mysql://":         mysqlURL,
		"a file on a path": func(t *testing.T) string { return filepath.Join(t.TempDir(), "shop.db") },
	} {
		t.Run(name, func(t *testing.T) {
			dsn := dsnOf(t)
			status := run(t.Context(), []string{"show", dsn}, io.Discard, io.Discard)
			if status != exitInput {
				t.Errorf("of a database without tables the exit status is %d", status)
			}
			recap(t, "import", orders, dsn, "--trust-records")
			recap(t, "import", orders, dsn, "--session", "ORDER-7741", "--app", "books")
			want, err := os.ReadFile(orders)
			if err != nil {
				t.Fatal(err)
			}
			exported := recap(t, "export", dsn, "order-7741")
			if !equalEvents(t, exported, string(want)) {
				t.Errorf("exported is\n%s", exported)
			}
			if got := recap(t, "sessions", dsn); strings.Count(got, "\n") != 3 {
				t.Errorf("the sessions are\n%s", got)
			}
			before := recap(t, "context", dsn, "order-7741")
			recap(t, "compact", dsn, "order-7741", "--dry-run")
			if got := recap(t, "context", dsn, "order-7741"); got != before {
				t.Errorf("after a dry run the context is\n%s", got)
			}
			if got := recap(t, "compact", dsn, "order-7741"); !strings.HasPrefix(got, "Summary 14 stands in for 4 events, 10 to 13.\n") {
				t.Errorf("compact prints\n%s", got)
			}
			recap(t, "undo", dsn, "order-7741")
			if got := recap(t, "context", dsn, "order-7741"); got != before {
				t.Errorf("after undo the context is\n%s", got)
			}
		})
	}
}

// equalEvents reports whether two ADK sessions have the same events.
func equalEvents(t *testing.T, texts ...string) bool {
	t.Helper()
	var files []string
	for _, text := range texts {
		file, err := sessionfile.Read(t.Context(), "session", []byte(text), sessionfile.ReadOptions{TrustRecords: true})
		if err != nil {
			t.Fatal(err)
		}
		events, err := json.Marshal(file.Events)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(events))
	}
	return files[0] == files[1]
}

// postgresURL is the URL of a database that its driver names in words.
func postgresURL(t *testing.T) string {
	u := url.URL{Scheme: "postgres", Path: "/"}
	query := url.Values{}
	for _, word := range strings.Fields(testdb.Postgres.Create(t)) {
		key, value, _ := strings.Cut(word, "=")
		value = strings.Trim(value, "'")
		switch key {
		case "user":
			u.User = url.User(value)
		case "dbname":
			u.Path = "/" + value
		default:
			query.Set(key, value)
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func mysqlURL(t *testing.T) string {
	cfg, err := mysql.ParseDSN(testdb.MySQL.Create(t))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Net == "unix" {
		return fmt.Sprintf("mysql://%s@/%s?socket=%s", url.UserPassword(cfg.User, cfg.Passwd), cfg.DBName, url.QueryEscape(cfg.Addr))
	}
	return fmt.Sprintf("mysql://%s@%s/%s", url.UserPassword(cfg.User, cfg.Passwd), cfg.Addr, cfg.DBName)
}

// TestADKGo: databases that adk-go wrote are read as they are, and not changed.
func TestADKGo(t *testing.T) {
	for _, version := range []string{"v1.6", "v2.2", "compaction"} {
		t.Run(version, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "session", "database", "testdata", "adk-go-"+version+".sqlite"))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "adk.db")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			recap(t, "sessions", path)
			for _, command := range []string{"show", "context", "export"} {
				recap(t, command, path, "--user", "ada")
			}
			recap(t, "compact", "--dry-run", path, "--user", "ada")
			if version == "v1.6" {
				for _, command := range []string{"compact", "undo"} {
					var stderr bytes.Buffer
					status := run(t.Context(), []string{command, path, "--user", "ada"}, io.Discard, &stderr)
					if status == 0 || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "the database is of adk-go v1") {
						t.Errorf("%s: exit status %d: %s", command, status, stderr.String())
					}
				}
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
}

// TestImportInterrupted: an interrupted import leaves no session.
func TestImportInterrupted(t *testing.T) {
	d, err := openDB(filepath.Join(t.TempDir(), "s.db"), creating)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close(true)
	data, err := os.ReadFile(orders)
	if err != nil {
		t.Fatal(err)
	}
	file, err := sessionfile.Read(t.Context(), orders, data, sessionfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := new(importOptions).store(ctx, d, orders, file, cancel); err == nil {
		t.Error("it was not interrupted")
	}
	list, err := d.service.List(t.Context(), &session.ListRequest{AppName: "shop"})
	if err != nil || len(list.Sessions) > 0 {
		t.Errorf("%d sessions are left, %v", len(list.Sessions), err)
	}
}

// TestCompactInterrupted: an interrupt does not wait for a model that hangs, and
// stores nothing.
func TestCompactInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	recap(t, "import", orders, path, "--trust-records")
	before := recap(t, "export", path)
	ctx, cancel := context.WithCancel(t.Context())
	useGemini(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"compact", path, "--summarizer", "gemini:some-model"}, &stdout, &stderr)
	if status != exitInterrupted || stdout.Len() > 0 || stderr.String() != "recap: interrupted\n" {
		t.Errorf("exit status %d, standard output %q, standard error %q", status, stdout.String(), stderr.String())
	}
	if after := recap(t, "export", path); after != before {
		t.Errorf("the session was changed:\n%s", after)
	}
}

// TestCompactWithModel: the model writes the summary, and what it spent is told;
// where it fails, that is told.
func TestCompactWithModel(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"it answers": {`{"candidates":[{"content":{"role":"model","parts":[{"text":"Ada wants no lamp."}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":90,"candidatesTokenCount":10,"totalTokenCount":100}}`, "Summarizer spent       100 tokens"},
		"it refuses": {`{"promptFeedback":{"blockReason":"SAFETY"}}`, "Note: the fallback made the summary: "},
	} {
		t.Run(name, func(t *testing.T) {
			useGemini(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, test.answer)
			})
			path := filepath.Join(t.TempDir(), "s.db")
			recap(t, "import", orders, path, "--trust-records")
			if got := recap(t, "compact", path, "--summarizer", "gemini:some-model"); !strings.Contains(got, test.want) {
				t.Errorf("compact prints\n%s", got)
			}
		})
	}
}

// TestChatStreams: an answer is printed as it comes, once, and stored whole.
func TestChatStreams(t *testing.T) {
	useGemini(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "streamGenerateContent") {
			http.Error(w, "not asked to stream", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"Hello, ", "Ada."} {
			fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":%q}]}}]}\n\n", text)
		}
		fmt.Fprint(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\"}]}\n\n")
	})
	path := filepath.Join(t.TempDir(), "s.db")
	var stdout, stderr bytes.Buffer
	root := newRoot()
	root.SetArgs([]string{"chat", path, "talk"})
	root.SetIn(strings.NewReader("I am Ada.\n"))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	if err := root.ExecuteContext(t.Context()); err != nil || stderr.Len() > 0 {
		t.Fatal(err, stderr.String())
	}
	const want = "Session talk in %s (new), model gemini:gemini-2.5-flash. /quit ends, /help tells more.\nHello, Ada.\n"
	if got := stdout.String(); got != fmt.Sprintf(want, path) {
		t.Errorf("chat prints\n%s", got)
	}
	if got := recap(t, "show", path); !strings.Contains(got, "2  assistant  Hello, Ada.") {
		t.Errorf("the log is\n%s", got)
	}
}

// TestChatInterrupted: what was said before is in the session, and the answer
// that was under way is not.
func TestChatInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	useGemini(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	path := filepath.Join(t.TempDir(), "s.db")
	root := newRoot()
	root.SetArgs([]string{"chat", path, "talk"})
	root.SetIn(strings.NewReader("I am Ada.\nAre you there?\n"))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(ctx); err == nil {
		t.Error("it was not interrupted")
	}
	if got := recap(t, "show", path); !strings.Contains(got, "\n1 event, no summary") || !strings.Contains(got, "I am Ada.") {
		t.Errorf("the log is\n%s", got)
	}
}

// TestContextIsWhatIsSent: what context prints is what an agent's model is sent,
// letter by letter, with and without compaction.
func TestContextIsWhatIsSent(t *testing.T) {
	for name, cfg := range map[string]*compaction.Config{
		"with compaction":    {CompactionInterval: 5, Summarizer: compaction.ExtractiveSummarizer{}, MaxToolOutput: 5},
		"without compaction": nil,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			recap(t, "import", orders, path, "--trust-records")
			args := []string{"context", path, "--json", "--max-tool-output", "5"}
			if cfg == nil {
				args = append(args, "--raw")
			}
			var printed prompt
			if err := json.Unmarshal([]byte(recap(t, args...)), &printed); err != nil {
				t.Fatal(err)
			}
			var got []*genai.Content
			for _, counted := range printed.Contents {
				got = append(got, counted.Content)
			}
			if diff := cmp.Diff(sent(t, path, cfg), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sent is what a model is sent in the session of a database, if its agent goes
// on from where it is.
func sent(t *testing.T, path string, cfg *compaction.Config) []*genai.Content {
	d, err := openDB(path, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close(true)
	script := modeltest.NewScript(modeltest.Text("Bye."))
	shop, err := llmagent.New(llmagent.Config{Name: "shop", Model: script})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{AppName: "shop", Agent: shop, SessionService: d.service, CompactionConfig: cfg})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Run(t.Context(), "ada", "order-7741", nil, agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return script.Requests()[0].Contents
}

func TestParseDSN(t *testing.T) {
	for argument, want := range map[string]string{
		"chat.db":                        "sqlite chat.db (chat.db)",
		":memory:":                       "sqlite :memory: (:memory:)",
		"C:\\a\\chat.db":                 "sqlite C:\\a\\chat.db (C:\\a\\chat.db)",
		"a=b.db":                         "sqlite a=b.db (a=b.db)",
		"dir/tcp(x)/a.db":                "sqlite dir/tcp(x)/a.db (dir/tcp(x)/a.db)",
		"postgres://u:p@h:1/d?x=y":       "postgres postgres://u:p@h:1/d?x=y (postgres://h:1/d)",
		"postgresql://h/d":               "postgres postgresql://h/d (postgresql://h/d)",
		"host=h dbname=d password='a b'": "postgres host=h dbname=d password='a b' (the PostgreSQL database)",
		"mysql://u:p@h:1/d?tls=false":    "mysql u:p@tcp(h:1)/d?tls=false (mysql://h:1/d)",
		"mysql://u@/d?socket=/s":         "mysql u:@unix(/s)/d (mysql:///d)",
		"u:p@tcp(h:1)/d":                 "mysql u:p@tcp(h:1)/d (mysql://h:1/d)",
		"u@unix(/s)/d":                   "mysql u@unix(/s)/d (mysql:///s/d)",
	} {
		kind, dsn, name, err := parseDSN(argument)
		if got := fmt.Sprintf("%s %s (%s)", kind, dsn, name); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", argument, got, err, want)
		}
	}
	for argument, want := range map[string]string{
		"":                   "the name of the database is empty",
		"mongodb://u:p@h/d":  "mongodb://h/d: databases of kind \"mongodb\" are not supported; a file, postgres:// and mysql:// are",
		"mysql://h/d?tls=no": "mysql://h/d: invalid value / unknown config name: no",
	} {
		if _, _, _, err := parseDSN(argument); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", argument, err, want)
		}
	}
}

// Texts never take more columns than there are, and nothing is lost but spaces.
func TestWrapped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab  é日👩\n\t\x1b"))).Draw(t, "text")
		columns := rapid.IntRange(2, 20).Draw(t, "columns")
		var joined string
		for _, line := range append(wrapped(text, columns), short(text, columns)) {
			if width := uniseg.StringWidth(line); width > columns {
				t.Fatalf("%q takes %d columns", line, width)
			}
		}
		for _, line := range wrapped(text, columns) {
			joined += line
		}
		drop := strings.NewReplacer(" ", "", "\n", "")
		if got, want := drop.Replace(joined), drop.Replace(plain(text)); got != want {
			t.Fatalf("it is %q, want %q", got, want)
		}
	})
}
