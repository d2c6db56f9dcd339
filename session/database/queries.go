package database

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// eventColumns are the columns of events beside those that name the session, in
// the order in which they are read and written. The ID is the first.
var eventColumns = []string{
	"id", "invocation_id", "author", "actions", "long_running_tool_ids_json", "routes_json", "output_json",
	"node_info_json", "requested_input_json", "branch", "isolation_scope", "timestamp", "content",
	"grounding_metadata", "custom_metadata", "usage_metadata", "citation_metadata", "partial", "turn_complete",
	"error_code", "error_message", "interrupted",
}

// queries are the statements, with the placeholders of the dialect. No name in
// them is a reserved word anywhere, so none is quoted.
type queries struct {
	insertSession, touchSession, deleteSession           string
	lockSession, sessionForAppend, readSession           string
	listSessions, listUserSessions                       string
	pageOfSessions, pageOfUserSessions                   string
	insertEvent, deleteEvents                            string
	timesSince, actionsSince                             string
	events, eventsAfter, recentEvents, recentEventsAfter string
	lastCompaction                                       string
	eventsAt                                             string // not bound: for a list of times
	app, user                                            sharedQueries
	tryLock, unlock                                      string
}

// sharedQueries are those for the state of an application or of a user.
type sharedQueries struct{ read, update, insert string }

func newQueries(orm *gorm.DB, d *dialect) *queries {
	bind := func(query string) string { return placeholders(orm, query) }
	const (
		ofSession = "app_name = ? AND user_id = ? AND session_id = ?"
		sessionIs = "app_name = ? AND user_id = ? AND id = ?"
		ofRow     = "e.app_name = s.app_name AND e.user_id = s.user_id AND e.session_id = s.id"
	)
	timestamp := d.readTime("timestamp")
	stray := "0"
	if d.strayTime != "" {
		stray = "EXISTS (SELECT 1 FROM events e WHERE " + ofRow + " AND " + d.strayTime + ")"
	}
	withState := func(stray string) string {
		return "SELECT s.app_name, s.user_id, s.id, s.state, a.state, u.state, " + d.readTime("s.update_time") + ", " + stray + " FROM sessions s" +
			" LEFT JOIN app_states a ON a.app_name = s.app_name" +
			" LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id WHERE s.app_name = ?"
	}
	last := "(SELECT " + d.readTime("e.timestamp") + " FROM events e WHERE " + ofRow + " ORDER BY e.timestamp DESC LIMIT 1)"
	columns := strings.Join(eventColumns, ", ")
	readable := strings.Replace(columns, "timestamp", timestamp, 1)
	events := "SELECT " + readable + " FROM events WHERE " + ofSession
	since := " AND timestamp >= ?"
	inOrder, lastFirst := " ORDER BY timestamp", " ORDER BY timestamp DESC"
	if d.storedOrder != "" {
		inOrder, lastFirst = inOrder+", "+d.storedOrder, lastFirst+", "+d.storedOrder+" DESC"
	}
	recent := func(also string) string {
		if !d.unindexedOrder {
			return events + also + lastFirst + " LIMIT ?"
		}
		newest := "SELECT " + columns + ", " + d.storedOrder + " AS place FROM events WHERE " + ofSession + also + " ORDER BY timestamp DESC FETCH FIRST ? ROWS WITH TIES"
		return "SELECT " + readable + " FROM (" + newest + ") newest ORDER BY timestamp DESC, place DESC"
	}
	sorted := [3]string{d.sortTime("s.update_time"), d.bytewise("s.user_id"), d.bytewise("s.id")}
	page := fmt.Sprintf(" AND (%[1]s < ? OR %[1]s = ? AND (%[2]s > ? OR %[2]s = ? AND %[3]s > ?)) ORDER BY %[1]s DESC, %[2]s, %[3]s LIMIT ?",
		sorted[0], sorted[1], sorted[2])

	return &queries{
		insertSession: bind("INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) VALUES (?, ?, ?, ?, ?, ?)"),
		touchSession:  bind("UPDATE sessions SET state = ?, update_time = ? WHERE " + sessionIs),
		deleteSession: bind("DELETE FROM sessions WHERE " + sessionIs),
		lockSession:   bind("SELECT app_name, user_id, id FROM sessions WHERE " + sessionIs + d.forUpdate),
		sessionForAppend: bind("SELECT s.state, " + d.readTime("s.update_time") + ", " + last + ", " + stray +
			" FROM sessions s WHERE s.app_name = ? AND s.user_id = ? AND s.id = ?"),
		readSession:      bind(withState(stray) + " AND s.user_id = ? AND s.id = ?"),
		listSessions:     bind(withState("0")),
		listUserSessions: bind(withState("0") + " AND s.user_id = ?"),

		pageOfSessions:     bind(withState("0") + page),
		pageOfUserSessions: bind(withState("0") + " AND s.user_id = ?" + page),

		insertEvent: bind("INSERT INTO events (app_name, user_id, session_id, " + columns + ") VALUES (?, ?, ?" +
			strings.Repeat(", ?", len(eventColumns)) + ")"),
		deleteEvents: bind("DELETE FROM events WHERE " + ofSession),
		timesSince:   bind("SELECT " + timestamp + " FROM events WHERE " + ofSession + since),
		actionsSince: bind("SELECT id, " + timestamp + ", actions FROM events WHERE " + ofSession + since + inOrder),

		events:            bind(events + inOrder),
		eventsAfter:       bind(events + since + inOrder),
		recentEvents:      bind(recent("")),
		recentEventsAfter: bind(recent(since)),
		// Without the stored order, which only tells ties apart, the index gives
		// the newest first, whatever the planner knows of the table.
		lastCompaction: bind(events + " AND " + d.isCompaction + " ORDER BY timestamp DESC LIMIT 1 OFFSET ?"),
		eventsAt:       strings.ReplaceAll(events, "%", "%%") + " AND timestamp IN (%s)" + inOrder,

		app: sharedQueries{
			read:   bind("SELECT state FROM app_states WHERE app_name = ?" + d.forUpdate),
			update: bind("UPDATE app_states SET state = ?, update_time = ? WHERE app_name = ?"),
			insert: bind("INSERT INTO app_states (state, update_time, app_name) VALUES (?, ?, ?)" + d.ifMissing),
		},
		user: sharedQueries{
			read:   bind("SELECT state FROM user_states WHERE app_name = ? AND user_id = ?" + d.forUpdate),
			update: bind("UPDATE user_states SET state = ?, update_time = ? WHERE app_name = ? AND user_id = ?"),
			insert: bind("INSERT INTO user_states (state, update_time, app_name, user_id) VALUES (?, ?, ?, ?)" + d.ifMissing),
		},

		tryLock: bind(d.tryLock),
		unlock:  bind(d.unlock),
	}
}

// placeholders replaces each ? by the placeholder of the dialect.
func placeholders(orm *gorm.DB, query string) string {
	var b strings.Builder
	statement := &gorm.Statement{DB: orm}
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			// Dialectors number the placeholder by the variables so far.
			statement.Vars = append(statement.Vars, nil)
			orm.Dialector.BindVarTo(&b, statement, nil)
		}
		b.WriteString(part)
	}
	return b.String()
}
