package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestMoving: programs that are written for adk-go compile once the command of
// docs/migrating.md was run on them, and the one field renamed that it names.
func TestMoving(t *testing.T) {
	guide, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "```sh\n")
	command, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/migrating.md has no command")
	}
	programs, err := txtar.ParseFile("testdata/moving.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range programs.Files {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What the module needs is what this one needs; asking no proxy for it.
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shell := func(command string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	shell("go mod edit -module example.org/moved -require github.com/recap-adk/recap@v0.0.0 -replace github.com/recap-adk/recap=" + root)
	shell(command)
	shell("sed -i 's/Compaction: /CompactionConfig: /' v2.3/main.go")
	shell("go vet -mod=mod ./...")
}
