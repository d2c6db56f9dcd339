package examples_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is how long a program may be: one that is longer is not read.
const maxLines = 99

func TestReadmeNamesEveryExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\w+)/[\w.]+\) \| .+ \| .+ \|$`).FindAllStringSubmatch(string(readme), -1) {
		if row[1] != row[2] {
			t.Errorf("the row of %s leads to %s", row[1], row[2])
		}
		named = append(named, row[1])
	}
	slices.Sort(named)
	if there := folders(t); !slices.Equal(named, there) {
		t.Errorf("README.md names\n%v\nthere are\n%v", named, there)
	}
}

func TestProgramsAreSmallAndTested(t *testing.T) {
	for _, name := range folders(t) {
		source, err := os.ReadFile(filepath.Join(name, "main.go"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(source, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, at most %d", name, lines, maxLines)
		}
		comment, _, _ := strings.Cut(string(source), "\npackage main\n")
		if !strings.Contains(comment, "go run ./examples/"+name) {
			t.Errorf("the comment of %s does not say how to run it:\n%s", name, comment)
		}
		if _, err := os.Stat(filepath.Join(name, "main_test.go")); err != nil {
			t.Error(err)
		}
	}
}

// folders are the names of the examples, sorted.
func folders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "internal" {
			names = append(names, entry.Name())
		}
	}
	if len(names) == 0 {
		t.Fatal("there are no examples")
	}
	return names
}
