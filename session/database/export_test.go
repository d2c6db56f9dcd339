package database

import (
	"database/sql"

	"github.com/recap-adk/recap/session"
)

// Queries are the statements that tests ask the plans of, by name.
func Queries(svc session.Service) map[string]string {
	q := svc.(*service).queries
	return map[string]string{
		"sessionForAppend": q.sessionForAppend, "readSession": q.readSession, "listUserSessions": q.listUserSessions,
		"timesSince": q.timesSince, "lastCompaction": q.lastCompaction, "actionsSince": q.actionsSince, "deleteEvents": q.deleteEvents,
		"events": q.events, "eventsAfter": q.eventsAfter, "recentEvents": q.recentEvents, "recentEventsAfter": q.recentEventsAfter,
	}
}

// Pool is the service's own pool of connections.
func Pool(svc session.Service) *sql.DB { return svc.(*service).pool }
