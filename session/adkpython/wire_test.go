package adkpython

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
)

// FuzzDecode: what can be read can be written and read again, and is the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"content": {"parts": [{"text": "hi", "thought_signature": "__4A"}], "role": "user"}, "actions": {"state_delta": {"a_b": 1}}, "timestamp": 1.5}`))
	f.Add([]byte(`{"actions": {"compaction": {"start_timestamp": 1.0, "end_timestamp": 2.0, "compacted_content": {"parts": [{"text": "S"}]}}}, "custom_metadata": {"recap": {"excludedEvents": [{"invocationId": "i", "timestamp": 1.5}]}}}`))
	f.Add([]byte(`{"actions": {"requested_tool_confirmations": {"call_a": {"hint": "h", "payload": {"x_y": 1}}}}, "long_running_tool_ids": ["a"]}`))
	at := time.Unix(1772355600, 0)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decode(data, "e", "i", at)
		if err != nil {
			return
		}
		written, err := encode(e)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		again, err := decode(written, "e", "i", at)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(jsonschema.Schema{})); diff != "" {
			t.Errorf("%s\n%s\n-before +after:\n%s", data, written, diff)
		}
	})
}

func TestNames(t *testing.T) {
	for camel, want := range map[string]string{"a": "a", "functionCall": "function_call", "longRunningToolIds": "long_running_tool_ids"} {
		if got := snake(camel); got != want || camelCase(want) != camel {
			t.Errorf("%s: %s, back %s", camel, got, camelCase(want))
		}
	}
}
