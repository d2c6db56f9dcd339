package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libtnb/sqlite"
)

// TestPythonDatabases: databases of adk-python are read as any other, and their
// sessions can be moved.
func TestPythonDatabases(t *testing.T) {
	for _, name := range []string{"v1.db", "sqlite.db"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "session", "adkpython", "testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			theirs, file, ours := filepath.Join(dir, name), filepath.Join(dir, "trip.json"), filepath.Join(dir, "ours.db")
			if err := os.WriteFile(theirs, data, 0o600); err != nil {
				t.Fatal(err)
			}
			recap := func(args ...string) string {
				t.Helper()
				var stdout, stderr bytes.Buffer
				if status := run(t.Context(), args, &stdout, &stderr); status != 0 {
					t.Fatalf("recap %s: exit status %d: %s", strings.Join(args, " "), status, stderr.String())
				}
				return stdout.String()
			}
			if list := recap("sessions", theirs); strings.Count(list, "trip-1") != 2 || !strings.Contains(list, "grace") {
				t.Errorf("sessions: %s", list)
			}
			shown := recap("show", theirs, "trip-1", "--user", "ada")
			for _, want := range []string{"Where is my order 7741?", "find_order", "The order 7741 was looked up."} {
				if !strings.Contains(shown, want) {
					t.Errorf("show lacks %q: %s", want, shown)
				}
			}
			if err := os.WriteFile(file, []byte(recap("export", theirs, "trip-1", "--user", "ada")), 0o600); err != nil {
				t.Fatal(err)
			}
			recap("import", file, ours, "--trust-records", "--app", appName, "--user", userID)
			if got := stored(t, ours, "trip-1"); got.Events().Len() != 8 {
				t.Errorf("%d events were moved", got.Events().Len())
			}
			after, err := os.ReadFile(theirs)
			if err != nil || !bytes.Equal(after, data) {
				t.Errorf("reading changed the file: %v", err)
			}
		})
	}
}

func TestPickledDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open(sqlite.DriverName, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE sessions (app_name, user_id, id, state); CREATE TABLE events (id, app_name, user_id, session_id, invocation_id, actions BLOB, content, timestamp); INSERT INTO events (id, actions) VALUES ('e', x'80049500')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"sessions", path}, &stdout, &stderr); status != exitInput || !strings.Contains(stderr.String(), "adk migrate session") || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
}
