package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/platform"
)

// Stamp gives an event what AppendEvent promises: an ID if it has none, and a
// UTC time at microseconds that is later than last, the time of the newest
// stored event.
func Stamp(ctx context.Context, event *Event, last time.Time) {
	if event.ID == "" {
		event.ID = platform.NewUUID(ctx)
	}
	at := event.Timestamp
	if at.IsZero() {
		at = platform.Now(ctx)
	}
	at = at.UTC().Truncate(time.Microsecond)
	if earliest := last.UTC().Truncate(time.Microsecond).Add(time.Microsecond); !last.IsZero() && at.Before(earliest) {
		at = earliest
	}
	event.Timestamp = at
}

// AppendToHandle adds a stored event to the handle through which it was
// appended, if the handle is one that grows, with the values of the delta that
// are never stored. Implementations of Service call it last.
func AppendToHandle(handle Session, stored *Event, delta map[string]any) {
	if growing, ok := handle.(interface{ Append(*Event) }); ok {
		growing.Append(stored)
	}
	for key, value := range delta {
		if strings.HasPrefix(key, KeyPrefixTemp) {
			// Only this handle ever has the value.
			_ = handle.State().Set(key, clone.Of(value))
		}
	}
}

// SplitState sorts state by who shares it. Keys of app and user come without
// their prefix; keys with KeyPrefixTemp are left out.
func SplitState(state map[string]any) (app, user, own map[string]any) {
	app, user, own = map[string]any{}, map[string]any{}, map[string]any{}
	for key, value := range state {
		switch {
		case strings.HasPrefix(key, KeyPrefixApp):
			app[key[len(KeyPrefixApp):]] = value
		case strings.HasPrefix(key, KeyPrefixUser):
			user[key[len(KeyPrefixUser):]] = value
		case !strings.HasPrefix(key, KeyPrefixTemp):
			own[key] = value
		}
	}
	return app, user, own
}

// MergeState is the inverse of SplitState: one map, prefixes put back.
func MergeState(app, user, own map[string]any) map[string]any {
	merged := make(map[string]any, len(app)+len(user)+len(own))
	maps.Copy(merged, own)
	for key, value := range app {
		merged[KeyPrefixApp+key] = value
	}
	for key, value := range user {
		merged[KeyPrefixUser+key] = value
	}
	return merged
}

// LastCompactionID is the ID of the newest compaction event in events, or
// empty. Services compare it, of the handle and of what is stored, before they
// append a compaction event.
func LastCompactionID(events Events) string {
	for i := events.Len() - 1; i >= 0; i-- {
		if event := events.At(i); event.Actions.Compaction != nil {
			return event.ID
		}
	}
	return ""
}

// SortByUpdate sorts sessions as List returns them: the most recently updated
// first, then by user and ID.
func SortByUpdate(sessions []Session) {
	slices.SortFunc(sessions, func(a, b Session) int {
		return cmp.Or(
			b.LastUpdateTime().Compare(a.LastUpdateTime()),
			cmp.Compare(a.UserID(), b.UserID()),
			cmp.Compare(a.ID(), b.ID()),
		)
	})
}

// withoutTemp returns delta without the keys that are never stored.
func withoutTemp(delta map[string]any) map[string]any {
	for key := range delta {
		if strings.HasPrefix(key, KeyPrefixTemp) {
			delete(delta, key)
		}
	}
	return delta
}
