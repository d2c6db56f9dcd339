// Package recording keeps what a client and a service said to each other in a
// file, for tests that then need neither the service nor a key.
//
//	client, key := recording.Client(t, "testdata/weather", "OPENAI_API_KEY")
//	llm, err := openaimodel.NewModel(ctx, "gpt-5", &openaimodel.ClientConfig{
//		APIKey: key, HTTPClient: client,
//		Options: []option.RequestOption{option.WithMaxRetries(0)},
//	})
//
// Where the file testdata/weather.yaml is there it is replayed. Where it is not,
// and OPENAI_API_KEY is set, the test talks to the service, and what it says is
// recorded; to record anew, remove the file. What a file keeps of a request is
// its method, path and body, and no header but those of Content-Type, so that
// no credential gets into it.
package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)

// Hidden stands for a key wherever one was.
const Hidden = "hidden-key"

// Client returns a client that replays the file of that name, ".yaml" added, or
// records it, and a key for the service: the value of the environment variable
// keyName when recording, else Hidden. A test without either is skipped.
//
// A replay is strict: every request must be one of the file by method, path,
// query and, as JSON, body; each is answered once; and all must have been asked
// for when the test ends.
func Client(t *testing.T, name, keyName string) (client *http.Client, key string) {
	t.Helper()
	mode, key := recorder.ModeReplayOnly, Hidden
	if _, err := os.Stat(name + ".yaml"); os.IsNotExist(err) {
		mode, key = recorder.ModeRecordOnce, os.Getenv(keyName)
		if key == "" {
			t.Skipf("there is no recording %s.yaml, and %s is not set to make one", name, keyName)
		}
	}
	r, err := open(name, key, mode, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return &http.Client{Transport: r}, key
}

func open(name, key string, mode recorder.Mode, transport http.RoundTripper) (*recorder.Recorder, error) {
	options := []recorder.Option{
		recorder.WithMode(mode),
		recorder.WithRealTransport(transport),
		recorder.WithSkipRequestLatency(true),
		recorder.WithMatcher(matches),
		recorder.WithHook(func(i *cassette.Interaction) error { return hide(i, key) }, recorder.BeforeSaveHook),
	}
	if mode == recorder.ModeReplayOnly {
		options = append(options, recorder.WithHook(isReplayed, recorder.OnRecorderStopHook))
	}
	return recorder.New(name, options...)
}

func isReplayed(i *cassette.Interaction) error {
	if !i.WasReplayed() {
		return fmt.Errorf("recording: nobody asked for number %d, %s %s", i.ID, i.Request.Method, i.Request.URL)
	}
	return nil
}

// hide leaves in an interaction what a replay needs.
func hide(i *cassette.Interaction, key string) error {
	address, err := url.Parse(i.Request.URL)
	if err != nil {
		return err
	}
	address.Scheme, address.Host, address.User = "https", "service.invalid", nil
	address.RawQuery = query(address).Encode()
	i.Request = cassette.Request{
		Method: i.Request.Method, URL: address.String(), Host: address.Host,
		Body: i.Request.Body, Headers: only(i.Request.Headers, "Content-Type"),
		ContentLength: i.Request.ContentLength,
	}
	i.Response.Headers = only(i.Response.Headers, "Content-Type", "Retry-After")
	i.Response.Trailer = nil
	for _, text := range []*string{&i.Request.URL, &i.Request.Body, &i.Response.Body} {
		if key != "" {
			*text = strings.ReplaceAll(*text, key, Hidden)
		}
	}
	return nil
}

func only(header http.Header, names ...string) http.Header {
	kept := http.Header{}
	for _, name := range names {
		if values := header.Values(name); len(values) > 0 {
			kept[name] = values
		}
	}
	return kept
}

// query are the parameters of an address but for a key.
func query(address *url.URL) url.Values {
	values := address.Query()
	maps.DeleteFunc(values, func(name string, _ []string) bool {
		return strings.Contains(strings.ToLower(name), "key") || strings.Contains(strings.ToLower(name), "token")
	})
	return values
}

// matches reports whether a request is the recorded one.
func matches(r *http.Request, recorded cassette.Request) bool {
	address, err := url.Parse(recorded.URL)
	if err != nil || r.Method != recorded.Method || r.URL.Path != address.Path || !reflect.DeepEqual(query(r.URL), query(address)) {
		return false
	}
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return false
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return sameJSON(body, []byte(recorded.Body))
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}
