package recording

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)

const secret = "sk-s3cret-0123456789"

// record makes a recording of two requests to a server that tells the key
// wherever it can.
func record(t *testing.T) (name string) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Set-Cookie", "session="+secret)
		fmt.Fprintf(w, "data: answer %d for %s\n\n", asked, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	name = filepath.Join(t.TempDir(), "talk")
	r, err := open(name, secret, recorder.ModeRecordOnce, server.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"a": 1, "b": 2}`, `{"a": 2, "said": "` + secret + `"}`} {
		if text, err := post(r, server.URL, "/v1/talk?alt=sse&key="+secret, body); err != nil || !strings.Contains(text, "Bearer "+secret) {
			t.Fatalf("answer is %q, %v", text, err)
		}
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	return name
}

func post(transport http.RoundTripper, server, path, body string) (string, error) {
	request, err := http.NewRequest(http.MethodPost, server+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("X-Api-Key", secret)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func TestNoKeyIsKept(t *testing.T) {
	text, err := os.ReadFile(record(t) + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{secret, "uthorization", "X-Api-Key", "ookie", "127.0.0.1"} {
		if strings.Contains(string(text), word) {
			t.Errorf("the recording has %q:\n%s", word, text)
		}
	}
	if !strings.Contains(string(text), "answer 1 for Bearer "+Hidden) {
		t.Errorf("the recording has no answer:\n%s", text)
	}
}

func TestReplay(t *testing.T) {
	const first, second = `{"b":2,"a":1}`, `{"a": 2, "said": "` + Hidden + `"}`
	const path = "/v1/talk?alt=sse"
	tests := []struct {
		name     string
		requests [][2]string // path and body
		want     []string    // parts of answers; "" for none
		left     string      // what is wrong at the end
	}{
		{"all", [][2]string{{path, first}, {path, second}}, []string{"answer 1", "answer 2"}, ""},
		{"in another order", [][2]string{{path, second}, {path, first}}, []string{"answer 2", "answer 1"}, ""},
		{"another key", [][2]string{{path + "&key=x", first}, {path, second}}, []string{"answer 1", "answer 2"}, ""},
		{"another body", [][2]string{{path, `{"a": 1, "b": 3}`}}, []string{""}, "number 0"},
		{"another field", [][2]string{{path, `{"a": 1, "b": 2, "c": 3}`}}, []string{""}, "number 0"},
		{"another path", [][2]string{{"/v2/talk?alt=sse", first}}, []string{""}, "number 0"},
		{"another query", [][2]string{{"/v1/talk", first}}, []string{""}, "number 0"},
		{"twice the same", [][2]string{{path, first}, {path, first}}, []string{"answer 1", ""}, "number 1"},
		{"not all", [][2]string{{path, first}}, []string{"answer 1"}, "number 1"},
	}
	recorded := record(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := open(recorded, Hidden, recorder.ModeReplayOnly, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, request := range test.requests {
				text, err := post(r, "https://example.org", request[0], request[1])
				if test.want[i] == "" {
					if !errors.Is(err, cassette.ErrInteractionNotFound) {
						t.Errorf("answer is %q, error %v", text, err)
					}
					continue
				}
				if err != nil || !strings.Contains(text, test.want[i]) {
					t.Errorf("answer is %q, error %v, want %q", text, err, test.want[i])
				}
			}
			err = r.Stop()
			if (err != nil) != (test.left != "") || err != nil && !strings.Contains(err.Error(), test.left) {
				t.Errorf("at the end there is error %v, want one with %q", err, test.left)
			}
		})
	}
}

func TestClient(t *testing.T) {
	recorded := record(t)
	t.Setenv("SOME_KEY", secret)
	client, key := Client(t, recorded, "SOME_KEY")
	if key != Hidden {
		t.Errorf("a replay has the key %q", key)
	}
	for _, body := range []string{`{"a": 1, "b": 2}`, `{"a": 2, "said": "` + Hidden + `"}`} {
		if _, err := post(client.Transport, "https://example.org", "/v1/talk?alt=sse", body); err != nil {
			t.Error(err)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, key := Client(t, missing, "SOME_KEY"); key != secret {
		t.Errorf("recording has the key %q", key)
	}
	t.Run("neither recording nor key", func(t *testing.T) {
		t.Cleanup(func() {
			if !t.Skipped() {
				t.Error("the test is not skipped")
			}
		})
		Client(t, missing, "NO_KEY_OF_THIS_NAME")
	})
}

// credential matches headers that carry one, and keys as providers make them.
var credential = regexp.MustCompile(`(?i)authorization|api-key|bearer |cookie|\bsk-\w{8}|\bAIza\w{8}`)

// Every recording of the module is free of credentials.
func TestRecordingsOfTheModule(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || !strings.Contains(path, "testdata") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if found := credential.Find(text); found != nil {
			t.Errorf("%s has %q", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
