package compaction_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFaults: every test that docs/compaction.md names is there.
func TestFaults(t *testing.T) {
	page, err := os.ReadFile("../docs/compaction.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests bytes.Buffer
	root := os.DirFS("..")
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(root, path)
		tests.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Errorf("the page names %d tests only", len(named))
	}
	for _, match := range named {
		if !strings.Contains(tests.String(), "func "+match[1]+"(t ") {
			t.Errorf("there is no test %s", match[1])
		}
	}
}
