package database_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// adkgo returns a copy of a database that adk-go wrote. In each there are two
// users with one session, of the same events at other times.
func adkgo(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "adk-go-"+name+".sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	file := newFile(t)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

var fixtures = []struct {
	name      string
	v1        bool
	events    int
	compacted bool
}{
	{name: "v1.6", v1: true, events: 24},
	{name: "v2.2", events: 24},
	{name: "compaction", events: 26, compacted: true},
}

func TestReadsWhatADKGoWrote(t *testing.T) {
	for _, fixture := range fixtures {
		t.Run(fixture.name, func(t *testing.T) {
			for _, migrated := range []bool{true, false} {
				if fixture.v1 && !migrated {
					continue
				}
				t.Run(fmt.Sprintf("migrated=%v", migrated), func(t *testing.T) {
					service := openAsIs(t, adkgo(t, fixture.name))
					if migrated {
						if err := database.AutoMigrate(service); err != nil {
							t.Fatal(err)
						}
					}
					checkFixture(t, get(t, service, trip), fixture.events, fixture.compacted)
				})
			}
		})
	}
}

func checkFixture(t *testing.T, s session.Session, events int, compacted bool) {
	t.Helper()
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	same("number of events", s.Events().Len(), events)
	state := map[string]any{}
	for key, value := range s.State().All() {
		state[key] = value
	}
	same("state", state, map[string]any{"city": "Lisbon", "last": 5.0, "app:currency": "EUR", "app:hits": 5.0, "user:seen": true, "user:tier": "gold"})

	var last time.Time
	for event := range s.Events().All() {
		if !event.Timestamp.After(last) {
			t.Errorf("event %q is at %v, not after %v", event.ID, event.Timestamp, last)
		}
		last = event.Timestamp
	}
	nothing := session.EventActions{StateDelta: map[string]any{}, ArtifactDelta: map[string]int64{}}
	usage := &genai.GenerateContentResponseUsageMetadata{CandidatesTokenCount: 17, PromptTokenCount: 321, TotalTokenCount: 338}

	question := &session.Event{ID: "ev-1772355601623", Timestamp: at(1).Add(623456 * time.Microsecond), InvocationID: "inv-0", Author: "user", Actions: nothing}
	question.Content = genai.NewContentFromText("Question 0 about flight TP047 on 2026-05-10", genai.RoleUser)
	same("question", s.Events().At(0), question)

	call := &session.Event{ID: "ev-1772355603123", Timestamp: at(3).Add(123456 * time.Microsecond), InvocationID: "inv-0", Author: "planner", Actions: nothing}
	call.UsageMetadata = usage
	call.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{Text: "thinking about it", Thought: true},
		{FunctionCall: &genai.FunctionCall{ID: "call-0", Name: "search_flights", Args: map[string]any{"no": "TP047", "seats": 2.0}}, ThoughtSignature: []byte{0, 0xff, 0xfe, 1}},
	}}
	same("call", s.Events().At(1), call)

	answer := &session.Event{ID: "ev-1772355606123", Timestamp: at(6).Add(123456 * time.Microsecond), InvocationID: "inv-0", Author: "planner", Actions: nothing}
	answer.UsageMetadata = usage
	answer.CustomMetadata = map[string]any{"trace": "t-inv-0"}
	answer.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{Text: "Answer 0"}, {InlineData: &genai.Blob{Data: []byte{0x89, 'P', 'N', 'G', 0}, MIMEType: "image/png"}},
	}}
	same("answer", s.Events().At(3), answer)

	same("long-running calls", s.Events().At(17).LongRunningToolIDs, []string{"call-4"})
	result := s.Events().At(22)
	same("result", result.Content.Parts[0].FunctionResponse.Response, map[string]any{"note": "ünïcode ✈", "price": 105.5})
	same("branch", result.Branch, "root.planner")
	same("actions", result.Actions, session.EventActions{
		StateDelta:        map[string]any{"app:hits": 5.0, "last": 5.0, "user:seen": true},
		ArtifactDelta:     map[string]int64{"ticket.pdf": 5},
		SkipSummarization: true,
	})
	if !compacted {
		return
	}
	records := 0
	for event := range s.Events().All() {
		if event.Actions.Compaction == nil {
			continue
		}
		records++
		same("record", event.Actions.Compaction, session.NewEventCompaction(question.Timestamp, at(12).Add(123456*time.Microsecond),
			genai.NewContentFromText("The user asked about flights TP047 and TP147; prices 100.5 and 101.5 EUR.", genai.RoleModel),
			[]session.EventRef{{InvocationID: "inv-1", Timestamp: at(9).Add(123456 * time.Microsecond)}}))
		same("covers the first event", event.Actions.Compaction.Covers(s.Events().At(0)), true)
		same("covers the excluded event", event.Actions.Compaction.Covers(s.Events().At(5)), false)
	}
	same("number of records", records, 1)
}

func TestContinuesWhatADKGoWrote(t *testing.T) {
	for _, fixture := range fixtures {
		t.Run(fixture.name, func(t *testing.T) {
			service := open(t, adkgo(t, fixture.name))
			// An older time, and a delta for each scope.
			event := say("new", at(0), "more")
			event.Actions.StateDelta = map[string]any{"city": "Porto", "app:hits": 6.0, "user:tier": "platinum"}
			before := get(t, service, trip)
			last := before.Events().At(before.Events().Len() - 1)
			add(t, service, get(t, service, trip), event)
			after := get(t, service, trip)
			if got, want := ids(after), ids(before)+" new"; got != want {
				t.Errorf("the events are\n%s, want\n%s", got, want)
			}
			if want := last.Timestamp.Add(time.Microsecond); !event.Timestamp.Equal(want) {
				t.Errorf("the event is at %v, want %v", event.Timestamp, want)
			}
			for key, want := range map[string]any{"city": "Porto", "last": 5.0, "app:hits": 6.0, "app:currency": "EUR", "user:tier": "platinum", "user:seen": true} {
				if got, _ := after.State().Get(key); got != want {
					t.Errorf("state %s is %v, want %v", key, got, want)
				}
			}
			other := get(t, service, &session.GetRequest{AppName: "travel", UserID: "grace", SessionID: "trip-1"})
			if n := other.Events().Len(); n != fixture.events {
				t.Errorf("the other user's session has %d events", n)
			}
		})
	}
}

func TestCompactionOfADKGoCounts(t *testing.T) {
	service := open(t, adkgo(t, "compaction"))
	record := func() *session.Event {
		event := &session.Event{InvocationID: "e-2", Author: "user"}
		event.Actions.Compaction = session.NewEventCompaction(at(1), at(20), genai.NewContentFromText("Summary.", genai.RoleModel), nil)
		return event
	}
	if err := service.AppendEvent(t.Context(), handleOf(trip), record()); err == nil {
		t.Error("a summary was appended through a handle that has not seen adk-go's")
	}
	add(t, service, get(t, service, trip), record())
}

// An event that adk-go wrote, read and appended again, must make the same row.
func TestWritesWhatADKGoWrites(t *testing.T) {
	for _, fixture := range fixtures {
		t.Run(fixture.name, func(t *testing.T) {
			theirs := adkgo(t, fixture.name)
			source := open(t, theirs)
			ours := newFile(t)
			service := open(t, ours)
			handle := create(t, service)
			for event := range get(t, source, trip).Events().All() {
				add(t, service, handle, event.Clone())
			}
			want, got := eventRows(t, theirs), eventRows(t, ours)
			if fixture.v1 || fixture.compacted {
				// Actions without tags: other names, and zero values written out.
				for _, rows := range [][]map[string]any{want, got} {
					for _, row := range rows {
						row["actions"] = canonicalActions(t, row["actions"])
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-theirs +ours):\n%s", diff)
			}
		})
	}
}

// eventRows reads the rows of the session trip as they are stored. JSON is decoded,
// as the order of its fields has no meaning; all else keeps its type.
func eventRows(t *testing.T, file string) []map[string]any {
	t.Helper()
	columns := "id, app_name, user_id, session_id, invocation_id, author, actions, long_running_tool_ids_json, routes_json, output_json, node_info_json, " +
		"requested_input_json, branch, isolation_scope, CAST(timestamp AS blob), content, grounding_metadata, custom_metadata, usage_metadata, citation_metadata, " +
		"partial, turn_complete, error_code, error_message, interrupted"
	rows, err := raw(t, file).Query("SELECT " + columns + ", typeof(actions) || typeof(timestamp) || typeof(content) || typeof(partial) FROM events WHERE user_id = 'ada' ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for rows.Next() {
		values := make([]any, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
			if text, ok := values[i].(string); ok && len(text) > 0 && text[0] == '{' {
				row[name] = decoded(t, []byte(text))
			}
			if data, ok := values[i].([]byte); ok && len(data) > 0 && data[0] == '{' {
				row[name] = decoded(t, data)
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func canonicalActions(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var actions session.EventActions
	if err := json.Unmarshal(data, &actions); err != nil {
		t.Fatal(err)
	}
	if data, err = actions.MarshalADKGo(); err != nil {
		t.Fatal(err)
	}
	return decoded(t, data)
}

func TestWritesAllColumns(t *testing.T) {
	file := newFile(t)
	service := open(t, file)
	event := &session.Event{ID: "e", Timestamp: at(0).In(time.FixedZone("east", 3600)), Author: "planner", InvocationID: "inv", IsolationScope: "scope", Routes: []string{"a"}, Output: 1.5}
	event.NodeInfo = &session.NodeInfo{Path: "p"}
	event.RequestedInput = &session.RequestInput{InterruptID: "i"}
	event.ErrorCode, event.ErrorMessage = "code", "message"
	event.Interrupted, event.TurnComplete = true, true
	event.ModelVersion = "m"
	event.Actions.Compaction = session.NewEventCompaction(at(0), at(1).Add(time.Microsecond), genai.NewContentFromText("s", genai.RoleModel), nil)
	add(t, service, create(t, service), event)
	want := []map[string]any{{
		"id": "e", "app_name": "travel", "user_id": "ada", "session_id": "trip-1", "invocation_id": "inv", "author": "planner",
		"actions": map[string]any{"compaction": map[string]any{
			"startTimestamp": "2026-03-01T09:00:00Z", "endTimestamp": "2026-03-01T09:00:01.000001Z",
			"compactedContent": map[string]any{"role": "model", "parts": []any{map[string]any{"text": "s"}}},
		}},
		"long_running_tool_ids_json": nil, "routes_json": `["a"]`, "output_json": "1.5",
		"node_info_json": map[string]any{"path": "p"}, "requested_input_json": map[string]any{"interruptId": "i"},
		"branch": nil, "isolation_scope": "scope", "CAST(timestamp AS blob)": []byte("2026-03-01 09:00:00+00:00"),
		"content": nil, "grounding_metadata": nil, "usage_metadata": nil, "citation_metadata": nil,
		"custom_metadata": map[string]any{"recap": map[string]any{"event": map[string]any{"modelVersion": "m"}}},
		"partial":         int64(0), "turn_complete": int64(1), "interrupted": int64(1), "error_code": "code", "error_message": "message",
		"typeof(actions) || typeof(timestamp) || typeof(content) || typeof(partial)": "blobtextnullinteger",
	}}
	if diff := cmp.Diff(want, eventRows(t, file)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestAutoMigrate(t *testing.T) {
	fresh := newFile(t)
	open(t, fresh)
	want := schema(t, adkgo(t, "v2.2"), "table")
	if diff := cmp.Diff(want, schema(t, fresh, "table")); diff != "" {
		t.Errorf("tables of a new database (-adk-go +ours):\n%s", diff)
	}
	indexes := schema(t, fresh, "index")
	if len(indexes) != 2 {
		t.Errorf("the indexes of a new database are %v", indexes)
	}
	for _, fixture := range fixtures {
		t.Run(fixture.name, func(t *testing.T) {
			file := adkgo(t, fixture.name)
			before := schema(t, file, "table")
			service := open(t, file)
			if err := database.AutoMigrate(service); err != nil {
				t.Errorf("the second time: %v", err)
			}
			if diff := cmp.Diff(indexes, schema(t, file, "index")); diff != "" {
				t.Errorf("indexes (-want +got):\n%s", diff)
			}
			after := schema(t, file, "table")
			if fixture.v1 {
				if got := columns(t, file); len(got) != len(columns(t, fresh)) {
					t.Errorf("the columns of events are %v", got)
				}
				return
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("tables (-before +after):\n%s", diff)
			}
		})
	}
}

func schema(t *testing.T, file, kind string) map[string]string {
	t.Helper()
	rows, err := raw(t, file).Query("SELECT name, sql FROM sqlite_master WHERE type = ? AND sql IS NOT NULL", kind)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

func columns(t *testing.T, file string) []string {
	t.Helper()
	rows, err := raw(t, file).Query("SELECT name FROM pragma_table_info('events')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	return all
}

func TestSaysThatAutoMigrateIsMissing(t *testing.T) {
	t.Run("new database", func(t *testing.T) {
		service := openAsIs(t, newFile(t))
		_, err := service.Create(t.Context(), &session.CreateRequest{AppName: "travel", UserID: "ada"})
		wantError(t, err, "create: ", "no table sessions, AutoMigrate creates it")
		_, err = service.List(t.Context(), &session.ListRequest{AppName: "travel"})
		wantError(t, err, "list: ", "no table sessions, AutoMigrate creates it")
	})
	t.Run("memory", func(t *testing.T) {
		_, err := openAsIs(t, ":memory:").Get(t.Context(), trip)
		wantError(t, err, "get: ", "no table sessions, AutoMigrate creates it")
	})
	t.Run("adk-go v1", func(t *testing.T) {
		service := openAsIs(t, adkgo(t, "v1.6"))
		_, err := service.Get(t.Context(), trip)
		wantError(t, err, "get: ", "adk-go v1", "no column routes_json", "AutoMigrate upgrades it")
		err = service.AppendEvent(t.Context(), handleOf(trip), say("new", at(0), "x"))
		wantError(t, err, "append: ", "adk-go v1", "AutoMigrate upgrades it")
	})
}

// Times that adk-go wrote in local zones do not sort as text. Here the order of
// the texts is c a d b e.
func TestTimesInOtherZones(t *testing.T) {
	for _, migrated := range []bool{true, false} {
		t.Run(fmt.Sprintf("migrated=%v", migrated), func(t *testing.T) {
			file := adkgo(t, "v2.2")
			service := openAsIs(t, file)
			if migrated {
				if err := database.AutoMigrate(service); err != nil {
					t.Fatal(err)
				}
			}
			create := &session.CreateRequest{AppName: "travel", UserID: "ada", SessionID: "zones"}
			zones := &session.GetRequest{AppName: "travel", UserID: "ada", SessionID: "zones"}
			if _, err := service.Create(t.Context(), create); err != nil {
				t.Fatal(err)
			}
			db := raw(t, file)
			for _, row := range [][2]string{
				{"a", "2026-03-01 09:00:00.5+00:00"},
				{"b", "2026-03-01 14:00:01+05:00"},
				{"c", "2026-03-01 02:00:02.25-07:00"},
				{"d", "2026-03-01 11:00:03+02:00"},
				{"e", "2026-03-01T18:00:04+09:00"},
				{"f", "2026-03-01 01:00:05-08:00"},
			} {
				insert(t, db, row[0], row[1])
			}
			for _, c := range []struct {
				n     int
				after time.Time
				want  string
			}{
				{0, time.Time{}, "a b c d e f"},
				{2, time.Time{}, "e f"},
				{0, at(3), "d e f"},
				{2, at(1), "e f"},
				{9, at(4), "e f"},
			} {
				req := *zones
				req.NumRecentEvents, req.After = c.n, c.after
				if got := ids(get(t, service, &req)); got != c.want {
					t.Errorf("the last %d events from %v on are %q, want %q", c.n, c.after, got, c.want)
				}
			}
			for before, want := range map[time.Time]string{at(0): "", at(3): "a b c", at(9): "a b c d e f"} {
				req := *zones
				req.Before = before
				if got := ids(get(t, service, &req)); got != want {
					t.Errorf("the events before %v are %q, want %q", before, got, want)
				}
				sameScan(t, service, &req)
			}
			event := say("g", at(0), "older than f")
			add(t, service, get(t, service, zones), event)
			if want := at(5).Add(time.Microsecond); !event.Timestamp.Equal(want) {
				t.Errorf("the event is at %v, want %v", event.Timestamp, want)
			}
			event = say("g2", at(0), "older than g")
			add(t, service, get(t, service, zones), event)
			if want := at(5).Add(2 * time.Microsecond); !event.Timestamp.Equal(want) {
				t.Errorf("the event is at %v, want %v", event.Timestamp, want)
			}
			// adk-go goes on beside us.
			insert(t, db, "h", "2026-03-01 01:00:06-08:00")
			add(t, service, get(t, service, zones), say("i", at(0), "older than h"))
			if got := ids(get(t, service, zones)); got != "a b c d e f g g2 h i" {
				t.Errorf("the events are %q", got)
			}
			record := &session.Event{ID: "j", InvocationID: "e-1", Author: "user", Timestamp: at(9)}
			record.Actions.Compaction = session.NewEventCompaction(at(0), at(1), genai.NewContentFromText("s", genai.RoleModel), nil)
			handle := get(t, service, zones)
			add(t, service, handle, record, say("k", at(10), "x"))
			insert(t, db, "l", "2026-03-01 01:00:11-08:00")
			execute(t, db, `UPDATE events SET actions = '{"Compaction":{"startTimestamp":"2026-03-01T09:00:00Z"}}' WHERE id = 'l'`)
			again := record.Clone()
			again.ID = "m"
			if err := service.AppendEvent(t.Context(), handle, again); err == nil {
				t.Error("a summary that adk-go's supersedes was appended")
			}
			add(t, service, get(t, service, zones), again)
		})
	}
}

func insert(t *testing.T, db *sql.DB, id, timestamp string) {
	t.Helper()
	execute(t, db, `INSERT INTO events (id, app_name, user_id, session_id, invocation_id, author, actions, timestamp, partial)
		VALUES (?, 'travel', 'ada', 'zones', 'inv', 'user', '{}', ?, 0)`, id, timestamp)
}

func TestTiesKeepTheOrderInWhichTheyWereStored(t *testing.T) {
	file := adkgo(t, "v2.2")
	service := open(t, file)
	db := raw(t, file)
	execute(t, db, "UPDATE events SET timestamp = '2026-03-01 09:00:00+00:00' WHERE user_id = 'ada'")
	all := get(t, service, trip)
	if got, want := ids(all), ids(get(t, openAsIs(t, adkgo(t, "v2.2")), trip)); got != want {
		t.Errorf("the events are\n%s, want\n%s", got, want)
	}
	sameScan(t, service, trip)
	few := *trip
	few.NumRecentEvents = 2
	if got, want := ids(get(t, service, &few)), all.Events().At(22).ID+" "+all.Events().At(23).ID; got != want {
		t.Errorf("the last events are %s, want %s", got, want)
	}
}

// More events than a page of a scan may be of one time.
func TestScanOfManyTies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.db")
	service := open(t, file)
	handle := create(t, service)
	for i := range 1300 {
		add(t, service, handle, say(fmt.Sprintf("e%04d", i), at(i), "x"))
	}
	execute(t, raw(t, file), "UPDATE events SET timestamp = '2026-03-01 09:00:00+00:00' WHERE id > 'e0009' AND id < 'e1290'")
	sameScan(t, service, trip)
}

// sameScan wants a scan to yield what Get returns, the last first.
func sameScan(t *testing.T, service session.Service, req *session.GetRequest) {
	t.Helper()
	var got []string
	scan := &session.ScanRequest{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID, After: req.After, Before: req.Before}
	for e, err := range service.(session.EventScanner).ScanEvents(t.Context(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
	}
	slices.Reverse(got)
	if want := ids(get(t, service, req)); strings.Join(got, " ") != want {
		t.Errorf("a scan yields\n%s, want\n%s", strings.Join(got, " "), want)
	}
}
