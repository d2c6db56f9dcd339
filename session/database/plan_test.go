package database

import (
	"strings"
	"testing"

	"github.com/libtnb/sqlite"
)

// What is done on each turn must find its rows by an index and in order.
func TestQueriesUseIndexes(t *testing.T) {
	svc, err := NewSessionService(sqlite.Open(":memory:"))
	if err != nil {
		t.Fatal(err)
	}
	if err := AutoMigrate(svc); err != nil {
		t.Fatal(err)
	}
	s := svc.(*service)
	defer s.Close()
	const ordered, stray, primary = "idx_events_session_time", "idx_events_stray_time", "sqlite_autoindex_sessions_1"
	for _, c := range []struct {
		name, query string
		indexes     []string
	}{
		{"sessionForAppend", s.queries.sessionForAppend, []string{ordered, stray, primary}},
		{"readSession", s.queries.readSession, []string{stray, primary}},
		{"listUserSessions", s.queries.listUserSessions, []string{primary}},
		{"timesSince", s.queries.timesSince, []string{"COVERING INDEX " + ordered}},
		{"actionsSince", s.queries.actionsSince, []string{ordered}},
		{"events", s.queries.events, []string{ordered}},
		{"eventsAfter", s.queries.eventsAfter, []string{ordered}},
		{"recentEvents", s.queries.recentEvents, []string{ordered}},
		{"recentEventsAfter", s.queries.recentEventsAfter, []string{ordered}},
		{"deleteEvents", s.queries.deleteEvents, []string{ordered}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := make([]any, strings.Count(c.query, "?"))
			for i := range args {
				args[i] = "1"
			}
			rows, err := s.pool.Query("EXPLAIN QUERY PLAN "+c.query, args...)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					t.Fatal(err)
				}
				plan = append(plan, detail)
			}
			text := strings.Join(plan, "\n")
			for _, index := range c.indexes {
				if !strings.Contains(text, index) {
					t.Errorf("%s is not used:\n%s", index, text)
				}
			}
			if strings.Contains(text, "SCAN e") || strings.Contains(text, "TEMP B-TREE") {
				t.Errorf("rows are scanned or sorted:\n%s", text)
			}
		})
	}
}
