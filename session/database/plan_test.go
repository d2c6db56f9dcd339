package database_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
	"github.com/recap-adk/recap/session/sessiontest"
)

// What is done on each turn must find its rows by an index and in order.
func TestQueriesUseIndexes(t *testing.T) {
	service := open(t, ":memory:")
	const ordered, stray, primary = "idx_events_session_time", "idx_events_stray_time", "sqlite_autoindex_sessions_1"
	for name, indexes := range map[string][]string{
		"sessionForAppend":  {ordered, stray, primary},
		"readSession":       {stray, primary},
		"listUserSessions":  {primary},
		"timesSince":        {"COVERING INDEX " + ordered},
		"actionsSince":      {ordered},
		"events":            {ordered},
		"eventsAfter":       {ordered},
		"recentEvents":      {ordered},
		"recentEventsAfter": {ordered},
		"lastCompaction":    {ordered},
		"deleteEvents":      {ordered},
	} {
		t.Run(name, func(t *testing.T) {
			plan := explain(t, service, "EXPLAIN QUERY PLAN ", name)
			for _, index := range indexes {
				if !strings.Contains(plan, index) {
					t.Errorf("%s is not used:\n%s", index, plan)
				}
			}
			if strings.Contains(plan, "SCAN e") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("rows are scanned or sorted:\n%s", plan)
			}
		})
	}
}

// newestFirst matches a plan of PostgreSQL that reads an index from its end until
// it has enough.
var newestFirst = regexp.MustCompile(`->  Limit .*\n *->  Index Scan Backward`)

// The same on servers, which choose a plan by what is in the tables. The session
// that is read has 100 events.
func TestServersUseIndexes(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := k.create(t)
		if k.name == "postgres" {
			dsn = postgresWith(dsn, "default_query_exec_mode", "simple_protocol")
		}
		service := k.open(t, dsn)
		if _, err := sessiontest.Fill(t.Context(), service, trip.AppName, trip.UserID, trip.SessionID, 100); err != nil {
			t.Fatal(err)
		}
		for _, others := range []int{0, 20_000} {
			addOthers(t, service, others)
			for _, name := range []string{"sessionForAppend", "events", "eventsAfter", "recentEvents", "recentEventsAfter", "timesSince", "actionsSince", "lastCompaction", "deleteEvents"} {
				t.Run(fmt.Sprintf("others=%d/%s", others, name), func(t *testing.T) {
					plan := explain(t, service, "EXPLAIN ", name)
					// As long as the table is as small as the session, reading it
					// through costs the same.
					if wholeTable := others == 0 && k.name == "postgres"; !wholeTable && !strings.Contains(plan, "idx_events_session_time") {
						t.Errorf("the index is not used:\n%s", plan)
					}
					if others > 0 && strings.HasPrefix(name, "recent") && k.name == "postgres" && !newestFirst.MatchString(plan) {
						t.Errorf("more is read than the newest events:\n%s", plan)
					}
					if others > 0 && (strings.Contains(plan, "Seq Scan on events") || strings.Contains(plan, "filesort")) {
						t.Errorf("rows are scanned or sorted:\n%s", plan)
					}
				})
			}
		}
	})
}

// explain returns the plan of a statement for the session trip, a line for each
// row.
func explain(t *testing.T, service session.Service, how, name string) string {
	t.Helper()
	query := database.Queries(service)[name]
	args := []any{trip.AppName, trip.UserID, trip.SessionID}
	for i := strings.Count(placeholderless(query), "\x00") - len(args); i > 0; i-- {
		if args = append(args, at(90).Format("2006-01-02 15:04:05+00:00")); i == 1 && (strings.HasPrefix(name, "recent") || name == "lastCompaction") {
			args[len(args)-1] = 10
		}
	}
	if name == "listUserSessions" {
		args = args[:2]
	}
	rows, err := database.Pool(service).Query(how+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		values := make([]*string, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			if value != nil {
				plan.WriteString(*value + " ")
			}
		}
		plan.WriteByte('\n')
	}
	return plan.String()
}

// placeholderless puts \x00 in place of each placeholder.
func placeholderless(query string) string {
	for i := 9; i > 0; i-- {
		query = strings.ReplaceAll(query, fmt.Sprint("$", i), "\x00")
	}
	return strings.ReplaceAll(query, "?", "\x00")
}

// addOthers adds, in SQL, at least n events in sessions of 100 of the same user,
// and lets the database look at its tables.
func addOthers(tb testing.TB, service session.Service, n int) {
	tb.Helper()
	db := database.Pool(service)
	var dialect string
	switch fmt.Sprintf("%T", db.Driver()) {
	case "*stdlib.Driver":
		dialect = "postgres"
	case "*mysql.MySQLDriver":
		dialect = "mysql"
	}
	insert := []string{
		`INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d)
			SELECT 'travel', 'ada', %[2]s, '{}', '2026-03-01 09:00:00', '2026-03-01 09:00:00' FROM n`,
		`INSERT INTO events (id, app_name, user_id, session_id, invocation_id, author, actions, timestamp, content, partial)
			SELECT e.id, e.app_name, e.user_id, s.id, e.invocation_id, e.author, e.actions, e.timestamp, e.content, e.partial
			FROM events e, sessions s WHERE e.session_id = 'trip-1' AND e.user_id = 'ada' AND s.id LIKE 'other-%[1]d-%%'`,
	}
	name := "'other-%[1]d-' || i"
	analyze := "ANALYZE"
	switch dialect {
	case "mysql":
		analyze = "ANALYZE TABLE sessions, events"
		insert[0] = "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) " +
			`SELECT 'travel', 'ada', %[2]s, '{}', '2026-03-01 09:00:00', '2026-03-01 09:00:00' FROM
			(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d) SELECT i FROM n) numbers`
	case "postgres":
		insert[0] = strings.ReplaceAll(insert[0], "'{}', '2026-03-01 09:00:00', '2026-03-01 09:00:00'", "CAST('{}' AS jsonb), TIMESTAMPTZ '2026-03-01 09:00:00+00', TIMESTAMPTZ '2026-03-01 09:00:00+00'")
	case "":
		insert[0] = strings.ReplaceAll(insert[0], "09:00:00'", "09:00:00+00:00'")
	}
	var statements []string
	const batch = 1000 // more than servers count to without being told
	for left := n / 100; left > 0; left -= batch {
		name := fmt.Sprintf(name, n) + fmt.Sprintf(" || '-%d'", left)
		if dialect == "mysql" {
			name = fmt.Sprintf("concat('other-%d-', i, '-%d')", n, left)
		}
		statements = append(statements, fmt.Sprintf(insert[0], min(left, batch), name))
	}
	if len(statements) > 0 {
		statements = append(statements, fmt.Sprintf(insert[1], n))
	}
	statements = append(statements, analyze)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}
