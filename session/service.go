package session

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
		return compareByUpdate(a, b.LastUpdateTime(), b.UserID(), b.ID())
	})
}

func compareByUpdate(s Session, updated time.Time, userID, sessionID string) int {
	return cmp.Or(
		updated.Compare(s.LastUpdateTime()),
		cmp.Compare(s.UserID(), userID),
		cmp.Compare(s.ID(), sessionID),
	)
}

// pageToken is a place in the order of SortByUpdate.
type pageToken struct {
	Updated int64  `json:"t"` // microseconds since the epoch
	User    string `json:"u"`
	ID      string `json:"i"`
}

// PageToken returns the NextPageToken of a page that ends with last. It is for
// implementations of Service.
func PageToken(last Session) string {
	data, err := json.Marshal(pageToken{last.LastUpdateTime().UnixMicro(), last.UserID(), last.ID()})
	if err != nil {
		panic(err) // texts and a number
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// ParsePageToken returns where a page ended. The next one starts with the first
// session that SortByUpdate puts behind that. It is the inverse of PageToken.
func ParsePageToken(token string) (updated time.Time, userID, sessionID string, err error) {
	var parsed pageToken
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(data, &parsed)
	}
	if err != nil {
		return time.Time{}, "", "", fmt.Errorf("page token %q is not one that List returned", token)
	}
	return time.UnixMicro(parsed.Updated).UTC(), parsed.User, parsed.ID, nil
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
