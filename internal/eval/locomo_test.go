package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sampleSet is in the format of the data set, and made up.
const sampleSet = `[{
	"sample_id": "talk-1",
	"conversation": {
		"speaker_a": "Ida", "speaker_b": "Jon",
		"session_1_date_time": "9:00 am on 3 May, 2025",
		"session_1": [
			{"speaker": "Ida", "dia_id": "D1:1", "text": "I have a new boat, the Heron."},
			{"speaker": "Jon", "dia_id": "D1:2", "text": "Lovely!", "img_url": ["x"], "blip_caption": "a man who claps"},
			{"speaker": "Jon", "dia_id": "D1:3", "text": "Where does it lie?"}],
		"session_10": [{"speaker": "Jon", "dia_id": "D10:1", "text": "I sold my bicycle."}],
		"session_2_date_time": "10:00 am on 8 May, 2025",
		"session_2": [{"speaker": "Jon", "dia_id": "D2:1", "text": "Are you there?"}]
	},
	"qa": [
		{"question": "What is the boat called?", "answer": "Heron", "evidence": ["D1:1"], "category": 1},
		{"question": "What did Jon do?", "answer": 2025, "evidence": ["D1:2; D10:1", "D9:9"], "category": 1},
		{"question": "What of the car, was it not mentioned?", "adversarial_answer": "red", "evidence": [], "category": 5}
	]
}]`

func TestDecodeLoCoMo(t *testing.T) {
	cases, err := DecodeLoCoMo("set.json", []byte(sampleSet))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, turn := range cases[0].Talk.Turns {
		if turn.User != nil {
			lines = append(lines, "user: "+turn.User.Parts[0].Text)
		}
		for _, step := range turn.Steps {
			lines = append(lines, "model: "+step.Content.Parts[0].Text)
		}
	}
	for _, q := range cases[0].Questions {
		lines = append(lines, fmt.Sprintf("%d %s %q %q %d", q.Category, q.Question, q.Answer, q.Evidence, q.Unknown))
	}
	want := []string{
		"user: [9:00 am on 3 May, 2025]\nIda: I have a new boat, the Heron.",
		"model: Jon: Lovely! [shows a picture: a man who claps]",
		"model: Jon: Where does it lie?",
		"user: [10:00 am on 8 May, 2025]",
		"model: Jon: Are you there?",
		"user: [session 10]",
		"model: Jon: I sold my bicycle.",
		`1 What is the boat called? "Heron" ["Ida: I have a new boat, the Heron."] 0`,
		`1 What did Jon do? "2025" ["Jon: Lovely! [shows a picture: a man who claps]" "Jon: I sold my bicycle."] 1`,
		`5 What of the car, was it not mentioned? "" [] 0`,
	}
	if !slices.Equal(lines, want) || cases[0].Name != "set.json: talk-1" {
		t.Errorf("%s:\n%s\nwant:\n%s", cases[0].Name, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestDecodeLoCoMoErrors(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`"sample_id"`, `sample_id`, "set.json: 2:2: invalid character 's' looking for beginning of object key string"},
		{`"speaker_b": "Jon"`, `"speaker_b": "Ida"`, `set.json: sample 1: both speakers are named "Ida"`},
		{`"speaker_a": "Ida", `, ``, "set.json: sample 1: conversation.speaker_a is not a name"},
		{`"D1:3"`, `"D1:1"`, `set.json: sample 1: conversation.session_1[2].dia_id is "D1:1", as that of another message`},
		{`{"speaker": "Ida", "dia`, `{"speaker": "Eve", "dia`, `set.json: sample 1: conversation.session_1[0].speaker is neither "Ida" nor "Jon"`},
		{`"text": "Lovely!", `, ``, "set.json: sample 1: conversation.session_1[1] has no text"},
		{`"answer": 2025`, `"answer": [1]`, "set.json: sample 1: qa[1].answer is neither a text nor a number"},
		{`"answer": "Heron", `, ``, "set.json: sample 1: qa[0].answer is neither a text nor a number"},
		{`, "category": 5`, ``, "set.json: sample 1: qa[2] has no category"},
		{`"conversation"`, `"talk"`, "set.json: sample 1: it has no conversation"},
		{sampleSet, `[]`, "set.json: there is no sample in it"},
		{sampleSet, `{}`, "set.json: 1:1: json: cannot unmarshal object into Go value of type []json.RawMessage"},
		{"Heron", "\xff", "set.json: not UTF-8 text"},
	} {
		text := strings.Replace(sampleSet, test.old, test.new, 1)
		if _, err := DecodeLoCoMo("set.json", []byte(text)); fmt.Sprint(err) != test.want {
			t.Errorf("%s for %s: %v, want %s", test.new, test.old, err, test.want)
		}
	}
}

func FuzzDecodeLoCoMo(f *testing.F) {
	f.Add([]byte(sampleSet))
	f.Add([]byte(`[{"conversation":{"speaker_a":"a","speaker_b":"b","session_1":[{"speaker":"b","dia_id":"1","text":""}]},"qa":null}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := DecodeLoCoMo("set", data)
		if err != nil {
			return
		}
		for _, c := range cases {
			if len(c.Talk.Turns) == 0 || c.Talk.Turns[0].User == nil {
				t.Errorf("%s begins with %+v", c.Name, c.Talk.Turns)
			}
			for _, q := range c.Questions {
				if strings.TrimSpace(q.Question) == "" {
					t.Errorf("%s has an empty question", c.Name)
				}
			}
		}
	})
}
