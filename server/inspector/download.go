package inspector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/internal/sessionfile"
	"github.com/recap-adk/recap/session"
)

// event is one event as JSON.
func (h *handler) event(r *request) error {
	k, err := r.key()
	if err != nil {
		return err
	}
	at, err := r.time("at")
	if err != nil {
		return err
	}
	if at.IsZero() {
		return malformed("The address names no event: it needs at and event.")
	}
	// Logs of other makers may hold several events of one time.
	events, _, err := h.page(r.Context(), k, at, at.Add(time.Microsecond), recentEvents)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(events, func(e *session.Event) bool { return e.ID == r.query.Get("event") })
	if i < 0 {
		return problem{http.StatusNotFound, "There is no such event."}
	}
	data, err := json.MarshalIndent(events[i], "", "  ")
	if err != nil {
		return err
	}
	return r.writeJSON(data)
}

// download is the whole session as a file.
func (h *handler) download(r *request) error {
	k, err := r.key()
	if err != nil {
		return err
	}
	got, err := h.SessionService.Get(r.Context(), k.get())
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := sessionfile.Write(&file, sessionfile.ADK, got.Session, sessionfile.Options{}); err != nil {
		return err
	}
	r.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(k.ID)}))
	return r.writeJSON(file.Bytes())
}

// fileName is a name for a file that is one on every system.
func fileName(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	return "session-" + safe[:min(len(safe), 100)] + ".json"
}

func (r *request) writeJSON(data []byte) error {
	r.w.Header().Set("Content-Type", "application/json")
	r.w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = r.w.Write(data) // the one who does not get it is gone
	return nil
}

func showState(state session.ReadonlyState) []stateValue {
	var values []stateValue
	for name, value := range state.All() {
		data, err := json.Marshal(value)
		if err != nil {
			data = fmt.Append(nil, value)
		}
		values = append(values, stateValue{name, showLines([]logview.Line{{Kind: logview.Call, Text: string(data)}})[0]})
	}
	slices.SortFunc(values, func(a, b stateValue) int { return cmp.Compare(a.Key, b.Key) })
	return values
}
