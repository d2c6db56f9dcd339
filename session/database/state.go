package database

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/recap-adk/recap/session"
)

// stateDelta is a state delta in JSON, by who shares it.
type stateDelta struct{ app, user, own map[string]json.RawMessage }

func encodeDelta(state map[string]any) (stateDelta, error) {
	app, user, own := session.SplitState(state)
	var delta stateDelta
	for _, scope := range []struct {
		values map[string]any
		to     *map[string]json.RawMessage
	}{{app, &delta.app}, {user, &delta.user}, {own, &delta.own}} {
		for key, value := range scope.values {
			data, err := json.Marshal(value)
			if err != nil {
				return stateDelta{}, fmt.Errorf("state %q: %w", key, err)
			}
			if *scope.to == nil {
				*scope.to = map[string]json.RawMessage{}
			}
			(*scope.to)[key] = data
		}
	}
	return delta, nil
}

// mergeState sets the keys of delta in a stored state and leaves the others
// exactly as they are.
func mergeState(stored []byte, delta map[string]json.RawMessage) ([]byte, error) {
	if len(delta) == 0 && len(stored) > 0 {
		return stored, nil
	}
	state := map[string]json.RawMessage{}
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &state); err != nil {
			return nil, err
		}
		if state == nil { // it was null
			state = map[string]json.RawMessage{}
		}
	}
	maps.Copy(state, delta)
	return json.Marshal(state)
}

func isTemp(key string) bool { return strings.HasPrefix(key, session.KeyPrefixTemp) }
