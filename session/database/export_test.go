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
		"events": q.events[0], "eventsAfter": q.events[1], "eventsBefore": q.events[2], "eventsBetween": q.events[3], "scan": q.scan,
		"recentEvents": q.recentEvents[0], "recentEventsAfter": q.recentEvents[1],
		"recentEventsBefore": q.recentEvents[2], "recentEventsBetween": q.recentEvents[3],
	}
}

// Pool is the service's own pool of connections.
func Pool(svc session.Service) *sql.DB { return svc.(*service).pool }
