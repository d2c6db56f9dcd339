package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServe: the sessions of a database are shown until the command is told to
// stop, which is no failure.
func TestServe(t *testing.T) {
	db := filepath.Join(t.TempDir(), "s.db")
	replayJSON(t, writeChat(t, 12), "--db", db, "--session", "chat")
	before, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		token string
		args  []string
		want  int
	}{
		"open to this machine": {"", []string{"--addr", "127.0.0.1:0"}, http.StatusOK},
		"for programs":         {"", []string{"--addr", "127.0.0.1:0", "--json"}, http.StatusOK},
		"with a token":         {"s3cret", []string{"--addr", "127.0.0.1:0"}, http.StatusUnauthorized},
		"open to others":       {"s3cret", []string{"--addr", "0.0.0.0:0"}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tokenVariable, test.token)
			ctx, stop := context.WithCancel(t.Context())
			out, in := io.Pipe()
			var stderr bytes.Buffer
			status := make(chan int, 1)
			go func() {
				code := run(ctx, append([]string{"serve", db}, test.args...), in, &stderr)
				in.Close()
				status <- code
			}()
			line, _ := bufio.NewReader(out).ReadString('\n')
			_, base, _ := strings.Cut(strings.TrimSpace(line), " is shown at ")
			var told struct{ Database, URL string }
			if json.Unmarshal([]byte(line), &told) == nil && told.Database == db {
				base = told.URL
			}
			if base != "" {
				if code, _ := request(t, base, ""); code != test.want {
					t.Errorf("status %d", code)
				}
				if code, body := request(t, base+"session?app=recap&user=user&id=chat", test.token); code != http.StatusOK || !strings.Contains(body, "invoice") {
					t.Errorf("status %d: %s", code, body)
				}
			}
			stop()
			if code := <-status; code != 0 || stderr.Len() > 0 || base == "" {
				t.Errorf("exit status %d, first line %q, standard error %s", code, line, stderr.String())
			}
		})
	}
	if after, err := os.ReadFile(db); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database was changed, %v", err)
	}
}

func request(t *testing.T, target, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

func TestServeRefuses(t *testing.T) {
	db := filepath.Join(t.TempDir(), "s.db")
	replayJSON(t, writeChat(t, 2), "--db", db)
	t.Setenv(tokenVariable, "")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no database":        {nil, "serve needs one database; see recap serve --help"},
		"no such database":   {[]string{"nowhere.db"}, "nowhere.db: no such file or directory"},
		"all addresses":      {[]string{db, "--addr", ":0"}, "which others can reach"},
		"another address":    {[]string{db, "--addr", "192.0.2.1:0"}, "which others can reach"},
		"all of IPv6":        {[]string{db, "--addr", "[::]:0"}, "which others can reach"},
		"no address":         {[]string{db, "--addr", "nonsense"}, `--addr is "nonsense"; it must be an address`},
		"not of the machine": {[]string{db, "--addr", "192.0.2.1:0", "--token", "t"}, "--addr 192.0.2.1:0: "},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"serve"}, test.args...), &stdout, &stderr); status != exitInput || !strings.Contains(stderr.String(), test.want) || stdout.Len() > 0 {
			t.Errorf("%s: exit status %d, standard output %q, standard error %q", name, status, stdout.String(), stderr.String())
		}
	}
}
