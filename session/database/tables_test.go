package database_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// adkgoTables are the statements by which GORM creates adk-go's tables on a
// server. Words in capitals, and the collation, are replaced by those of the
// server.
const adkgoTables = `
CREATE TABLE sessions (app_name NAME, user_id NAME, id NAME, state DOCUMENT, create_time MOMENT, update_time MOMENT,
	PRIMARY KEY (app_name, user_id, id));
CREATE TABLE events (id NAME, app_name NAME, user_id NAME, session_id NAME, invocation_id TEXTS, author TEXTS, actions BYTES,
	long_running_tool_ids_json DOCUMENT, routes_json DOCUMENT, output_json DOCUMENT, node_info_json DOCUMENT, requested_input_json DOCUMENT,
	branch TEXTS, isolation_scope TEXTS, timestamp MOMENT, content DOCUMENT, grounding_metadata DOCUMENT, custom_metadata DOCUMENT,
	usage_metadata DOCUMENT, citation_metadata DOCUMENT, partial boolean, turn_complete boolean, error_code TEXTS, error_message TEXTS, interrupted boolean,
	PRIMARY KEY (id, app_name, user_id, session_id),
	CONSTRAINT fk_sessions_events FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE);
CREATE TABLE app_states (app_name NAME, state DOCUMENT, update_time MOMENT, PRIMARY KEY (app_name));
CREATE TABLE user_states (app_name NAME, user_id NAME, state DOCUMENT, update_time MOMENT, PRIMARY KEY (app_name, user_id))`

// createAsADKGo returns the DSN of a database with adk-go's tables, empty. With
// v1 they are those of version 1.
func createAsADKGo(t *testing.T, k kind, v1 bool) string {
	dsn := k.create(t)
	words := strings.NewReplacer("NAME", "text", "TEXTS", "text", "DOCUMENT", "JSONB", "MOMENT", "timestamptz(6)", "BYTES", "bytea")
	if k.name == "mysql" {
		words = strings.NewReplacer("NAME", "varchar(191)", "TEXTS", "longtext", "DOCUMENT", "LONGTEXT", "MOMENT", "datetime(6)", "BYTES", "longblob")
	}
	db := k.raw(t, dsn)
	for statement := range strings.SplitSeq(adkgoTables, ";") {
		if v1 {
			for _, column := range []string{"routes_json", "output_json", "node_info_json", "requested_input_json"} {
				statement = strings.ReplaceAll(statement, column+" DOCUMENT, ", "")
			}
			statement = strings.NewReplacer("requested_input_json DOCUMENT,", "", "isolation_scope TEXTS, ", "").Replace(statement)
		}
		if _, err := db.Exec(words.Replace(statement)); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return dsn
}

// serverColumns lists the columns of all tables with their types, and the keys.
func serverColumns(t *testing.T, k kind, dsn string) (all []string) {
	t.Helper()
	schema := "current_schema()"
	if k.name == "mysql" {
		schema = "DATABASE()"
	}
	for _, query := range []string{
		`SELECT concat_ws(' ', table_name, column_name, data_type, character_maximum_length, datetime_precision, is_nullable) FROM information_schema.columns WHERE table_schema = ` + schema,
		`SELECT concat_ws(' ', table_name, constraint_type, CASE constraint_type WHEN 'FOREIGN KEY' THEN constraint_name END)
			FROM information_schema.table_constraints WHERE table_schema = ` + schema + ` AND constraint_type <> 'CHECK'`,
		`SELECT concat_ws(' ', table_name, column_name, ordinal_position, CASE constraint_name WHEN 'fk_sessions_events' THEN constraint_name END)
			FROM information_schema.key_column_usage WHERE table_schema = ` + schema,
		`SELECT concat_ws(' ', delete_rule, constraint_name) FROM information_schema.referential_constraints WHERE constraint_schema = ` + schema,
	} {
		all = append(all, texts(t, k.raw(t, dsn), query)...)
	}
	slices.Sort(all)
	return all
}

// texts are the values of a query of one column.
func texts(t *testing.T, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTablesAreThoseOfADKGo(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		want := serverColumns(t, k, createAsADKGo(t, k, false))
		ours := k.create(t)
		service := k.open(t, ours)
		if diff := cmp.Diff(want, serverColumns(t, k, ours)); diff != "" {
			t.Errorf("a new database (-adk-go +ours):\n%s", diff)
		}
		if err := database.AutoMigrate(service); err != nil {
			t.Errorf("the second time: %v", err)
		}
		upgraded := createAsADKGo(t, k, true)
		k.open(t, upgraded)
		if diff := cmp.Diff(want, serverColumns(t, k, upgraded)); diff != "" {
			t.Errorf("a database of adk-go v1, upgraded (-v2 +ours):\n%s", diff)
		}
		for _, dsn := range []string{ours, upgraded} {
			if !strings.Contains(indexesOf(t, k, dsn), "idx_events_session_time") {
				t.Error("the index is not there")
			}
		}
	})
}

func indexesOf(t *testing.T, k kind, dsn string) string {
	if k.name == "mysql" {
		return strings.Join(texts(t, k.raw(t, dsn), "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'events'"), " ")
	}
	return strings.Join(texts(t, k.raw(t, dsn), "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'events'"), " ")
}

// Many processes migrate at once when they start at once.
func TestAutoMigrateAtOnce(t *testing.T) {
	onEach(t, kinds, func(t *testing.T, k kind) {
		dsn := k.create(t)
		errs := make(chan error)
		for range 4 {
			service := k.openAsIs(t, dsn)
			go func() { errs <- database.AutoMigrate(service) }()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// adk-go's rows are used as they are, before AutoMigrate and after it.
func TestGoesOnInTablesOfADKGo(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := createAsADKGo(t, k, false)
		db := k.raw(t, dsn)
		moment := func(text string) string {
			if k.name == "postgres" {
				return "TIMESTAMPTZ '" + text + "+00'"
			}
			return "'" + text + "'"
		}
		for _, statement := range []string{
			`INSERT INTO sessions VALUES ('travel', 'ada', 'trip-1', '{"city": "Lisbon"}', ` + moment("2026-03-01 09:00:00") + `, ` + moment("2026-03-01 09:00:01.623456") + `)`,
			`INSERT INTO app_states VALUES ('travel', '{"currency": "EUR"}', ` + moment("0001-01-01 00:00:00") + `)`,
			`INSERT INTO user_states VALUES ('travel', 'ada', NULL, NULL)`,
			`INSERT INTO events (id, app_name, user_id, session_id, invocation_id, author, actions, timestamp, content, custom_metadata, partial, turn_complete)
				VALUES ('ev-1', 'travel', 'ada', 'trip-1', 'inv-0', 'user', '{"stateDelta":{"city":"Lisbon"},"artifactDelta":{}}', ` + moment("2026-03-01 09:00:01.623456") + `,
				'{"role": "user", "parts": [{"text": "ünïcode ✈"}]}', '{"trace": "t-1"}', false, true)`,
		} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		service := k.openAsIs(t, dsn)
		first := &session.Event{ID: "ev-1", InvocationID: "inv-0", Author: "user", Timestamp: at(1).Add(623456 * time.Microsecond)}
		first.Content = genai.NewContentFromText("ünïcode ✈", genai.RoleUser)
		first.CustomMetadata, first.TurnComplete = map[string]any{"trace": "t-1"}, true
		first.Actions.StateDelta, first.Actions.ArtifactDelta = map[string]any{"city": "Lisbon"}, map[string]int64{}

		second := say("ev-2", at(0), "older")
		second.Actions.StateDelta = map[string]any{"city": "Porto", "app:hits": 1.0, "user:tier": "gold"}
		for _, migrated := range []bool{false, true} {
			got := get(t, service, trip)
			if diff := cmp.Diff(first, got.Events().At(0)); diff != "" {
				t.Errorf("adk-go's event, migrated=%v:\n%s", migrated, diff)
			}
			if !migrated {
				add(t, service, got, second)
				if err := database.AutoMigrate(service); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := get(t, service, trip)
		if got := ids(after); got != "ev-1 ev-2" {
			t.Errorf("the events are %s", got)
		}
		if want := first.Timestamp.Add(time.Microsecond); !after.Events().At(1).Timestamp.Equal(want) {
			t.Errorf("the event is at %v, want %v", after.Events().At(1).Timestamp, want)
		}
		for key, want := range map[string]any{"city": "Porto", "app:currency": "EUR", "app:hits": 1.0, "user:tier": "gold"} {
			if got, _ := after.State().Get(key); got != want {
				t.Errorf("state %s is %v, want %v", key, got, want)
			}
		}
		if err := service.Delete(t.Context(), &session.DeleteRequest{AppName: trip.AppName, UserID: trip.UserID, SessionID: trip.SessionID}); err != nil {
			t.Error(err)
		}
		if n := texts(t, db, "SELECT count(*) FROM events"); n[0] != "0" {
			t.Errorf("%s events are left", n[0])
		}
	})
}

// What is written has adk-go's encodings: JSON, NULL where there is nothing, and
// UTC.
func TestServersHoldADKGoEncodings(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := createAsADKGo(t, k, false)
		service := k.openAsIs(t, dsn)
		event := &session.Event{ID: "e", Timestamp: at(0).Add(123456 * time.Microsecond).In(zone(t, "Asia/Tokyo")), Author: "planner", InvocationID: "inv", Routes: []string{"a"}, Output: 1.5, LongRunningToolIDs: []string{"c"}}
		event.NodeInfo = &session.NodeInfo{Path: "p"}
		event.Interrupted, event.ModelVersion = true, "m"
		event.Actions.Compaction = session.NewEventCompaction(at(0), at(1).Add(time.Microsecond), genai.NewContentFromText("s", genai.RoleModel), nil)
		event.Actions.StateDelta = map[string]any{"own": 1, "app:a": 2, "user:u": 3}
		add(t, service, create(t, service), event)

		moment, bytes := "to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", "convert_from(actions, 'UTF8')"
		if k.name == "mysql" {
			moment, bytes = "CAST(%s AS CHAR)", "CAST(actions AS CHAR)"
		}
		db := k.raw(t, dsn)
		values := map[string]any{}
		for name, expression := range map[string]string{
			"actions": bytes, "timestamp": fmt.Sprintf(moment, "timestamp"),
			"long_running_tool_ids_json": "", "routes_json": "", "output_json": "", "node_info_json": "", "custom_metadata": "",
			"partial": "", "interrupted": "", "turn_complete": "",
			"nothing": "coalesce(branch, isolation_scope, error_code, error_message, content, grounding_metadata, usage_metadata, citation_metadata, requested_input_json)",
			"own":     "(SELECT state FROM sessions)", "app": "(SELECT state FROM app_states)", "user": "(SELECT state FROM user_states)",
		} {
			if expression == "" {
				expression = name
			}
			if k.name == "postgres" && name == "nothing" {
				expression = "coalesce(branch, isolation_scope, error_code, error_message, content::text, grounding_metadata::text, usage_metadata::text, citation_metadata::text, requested_input_json::text)"
			}
			var value sql.NullString
			if err := db.QueryRow("SELECT " + expression + " FROM events").Scan(&value); err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			values[name] = value.String
			var decoded any
			if json.Unmarshal([]byte(value.String), &decoded) == nil {
				values[name] = decoded
			}
		}
		yes, no := any(true), any(false)
		if k.name == "mysql" {
			yes, no = 1.0, 0.0
		}
		want := map[string]any{
			"actions": map[string]any{"stateDelta": map[string]any{"own": 1.0, "app:a": 2.0, "user:u": 3.0}, "compaction": map[string]any{
				"startTimestamp": "2026-03-01T09:00:00Z", "endTimestamp": "2026-03-01T09:00:01.000001Z",
				"compactedContent": map[string]any{"role": "model", "parts": []any{map[string]any{"text": "s"}}},
			}},
			"timestamp": "2026-03-01 09:00:00.123456", "long_running_tool_ids_json": []any{"c"}, "routes_json": []any{"a"}, "output_json": 1.5,
			"node_info_json": map[string]any{"path": "p"}, "custom_metadata": map[string]any{"recap": map[string]any{"event": map[string]any{"modelVersion": "m"}}},
			"partial": no, "interrupted": yes, "turn_complete": no, "nothing": "",
			"own": map[string]any{"own": 1.0}, "app": map[string]any{"a": 2.0}, "user": map[string]any{"u": 3.0},
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
}

// Logs of other makers may hold events of one time. With and without an index they
// come in the order in which they were stored, or of their IDs.
func TestTiesOnServers(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := createAsADKGo(t, k, false)
		service := k.openAsIs(t, dsn)
		handle := create(t, service)
		for i := range 30 {
			add(t, service, handle, say(fmt.Sprintf("e%02d", i), at(i), "x"))
		}
		want := ids(handle)
		execute(t, k.raw(t, dsn), "UPDATE events SET timestamp = '2026-03-01 09:00:00'")
		for _, migrated := range []bool{false, true} {
			if migrated {
				if err := database.AutoMigrate(service); err != nil {
					t.Fatal(err)
				}
			}
			if got := ids(get(t, service, trip)); got != want {
				t.Errorf("migrated=%v: the events are\n%s, want\n%s", migrated, got, want)
			}
			few := *trip
			few.NumRecentEvents = 3
			if got := ids(get(t, service, &few)); migrated && got != "e27 e28 e29" {
				t.Errorf("the last events are %s", got)
			}
		}
	})
}

// By the collation that adk-go's tables have on MySQL, "Ada" is "ada".
func TestSpellingInTablesOfADKGo(t *testing.T) {
	dsn := createAsADKGo(t, mysqlKind, false)
	service := mysqlKind.openAsIs(t, dsn)
	add(t, service, create(t, service), say("e", at(0), "secret"))
	other := *trip
	for _, name := range []string{"Ada", "ADA", "ada ", "adá"} {
		other.UserID = name
		if _, err := service.Get(t.Context(), &other); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Get for %q returned %v", name, err)
		}
		if err := service.AppendEvent(t.Context(), handleOf(&other), say("x", at(1), "x")); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("AppendEvent for %q returned %v", name, err)
		}
		if err := service.Delete(t.Context(), &session.DeleteRequest{AppName: other.AppName, UserID: name, SessionID: other.SessionID}); err != nil {
			t.Errorf("Delete for %q returned %v", name, err)
		}
		list, err := service.List(t.Context(), &session.ListRequest{AppName: other.AppName, UserID: name})
		if err != nil || len(list.Sessions) != 0 {
			t.Errorf("List for %q returned %d sessions, %v", name, len(list.Sessions), err)
		}
	}
	if got := ids(get(t, service, trip)); got != "e" {
		t.Errorf("the events are %s", got)
	}
}

// An instant is the same for processes whose connections, or servers, are in
// different zones, also in the hour that clocks go through twice.
func TestZonesOfConnections(t *testing.T) {
	ambiguous := time.Date(2100, 11, 7, 5, 30, 0, 123456000, time.UTC) // 1:30 in New York, twice
	zones := []string{"UTC", "America/New_York", "Asia/Kolkata"}
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := k.create(t)
		k.open(t, dsn)
		in := func(name string) string {
			if k.name == "postgres" {
				return postgresWith(dsn, "timezone", name)
			}
			return mysqlWith(t, dsn, func(cfg *mysql.Config) {
				cfg.ParseTime, cfg.Loc = true, zone(t, name)
				_, offset := ambiguous.In(cfg.Loc).Zone()
				cfg.Params = map[string]string{"time_zone": fmt.Sprintf("'%+03d:%02d'", offset/3600, max(offset, -offset)/60%60)}
			})
		}
		service := k.openAsIs(t, in("UTC"))
		handle := create(t, service)
		var want []time.Time
		for i, name := range slices.Concat(zones, zones) {
			instant := ambiguous.Add(time.Duration(i) * 20 * time.Minute)
			want = append(want, instant)
			add(t, k.openAsIs(t, in(name)), handle, say(fmt.Sprint(i), instant, "x"))
		}
		for _, name := range zones {
			var got []time.Time
			s := get(t, k.openAsIs(t, in(name)), trip)
			for event := range s.Events().All() {
				got = append(got, event.Timestamp)
			}
			if diff := cmp.Diff(want, got); diff != "" || !s.LastUpdateTime().Equal(want[5]) {
				t.Errorf("in %s, updated at %v:\n%s", name, s.LastUpdateTime(), diff)
			}
		}
	})
}

func TestServerThatCutsIsRefused(t *testing.T) {
	dsn := mysqlWith(t, mysqlKind.create(t), func(cfg *mysql.Config) { cfg.Params = map[string]string{"sql_mode": "''"} })
	_, err := database.NewSessionService(mysqlKind.dialector(dsn))
	wantError(t, err, "open: ", `sql_mode is ""`, "STRICT_TRANS_TABLES")
}

func TestServersSayThatAutoMigrateIsMissing(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		_, err := k.openAsIs(t, k.create(t)).Get(t.Context(), trip)
		wantError(t, err, "get: ", "no table sessions, AutoMigrate creates it")
		dsn := createAsADKGo(t, k, true)
		err = k.openAsIs(t, dsn).AppendEvent(t.Context(), create(t, k.openAsIs(t, dsn)), say("e", at(0), "x"))
		wantError(t, err, "append: ", "adk-go v1", "AutoMigrate upgrades it")
	})
}

// Names that are longer than a key can hold are refused, not cut.
func TestLongNames(t *testing.T) {
	service := mysqlKind.open(t, mysqlKind.create(t))
	_, err := service.Create(t.Context(), &session.CreateRequest{AppName: "travel", UserID: strings.Repeat("a", 192)})
	wantError(t, err, "create: ", "user_id")
	_, err = service.Create(t.Context(), &session.CreateRequest{AppName: "travel", UserID: strings.Repeat("✈", 191)})
	if err != nil {
		t.Error(err)
	}
}
