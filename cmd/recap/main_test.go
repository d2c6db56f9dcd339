package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"recap": main, "notes-server": notesServer})
}

// TestScripts runs the sessions of testdata/script. Each starts with orders.json,
// a session with a summary.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"sparse": sparse,
			"sqlite": query,
			"edit":   edit,
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
		// RECAP_UPDATE_SCRIPTS=1 writes what commands print into the scripts.
		UpdateScripts: os.Getenv("RECAP_UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TMPDIR", env.WorkDir)
			data, err := os.ReadFile(filepath.Join("testdata", "orders.json"))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "orders.json"), data, 0o644)
		},
	})
}

// status is the command "status N recap ...": it runs the command, which must
// exit with N and write one line on standard error and nothing else.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if lines := strings.Count(stderr, "\n"); got != want || lines != 1 || stdout != "" {
		ts.Fatalf("exit status %d, want %d, and %d lines on standard error", got, want, lines)
	}
}

// sparse is the command "sparse FILE SIZE".
func sparse(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(file.Truncate(size))
	ts.Check(file.Close())
}

// query is the command "sqlite FILE STATEMENT": it prints the first column of
// the rows.
func query(ts *testscript.TestScript, _ bool, args []string) {
	pool, err := sql.Open(sqlite.DriverName, ts.MkAbs(args[0]))
	ts.Check(err)
	defer pool.Close()
	rows, err := pool.Query(args[1])
	ts.Check(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		ts.Check(rows.Scan(&text))
		fmt.Fprintln(ts.Stdout(), text)
	}
	ts.Check(rows.Err())
}

// edit is the command "edit FILE OLD NEW": it replaces a text everywhere.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o644))
}
