package compaction_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deferred are the cases of the ADK family that have no test yet, and why.
var deferred = map[string][]int{}

// TestEveryCaseIsFound: each of the 100 cases that describe how the ADK family
// compacts is named by a test ("case 12") or a file in testdata ("case-12-..."),
// or is deferred.
func TestEveryCaseIsFound(t *testing.T) {
	found := map[int][]string{}
	named := regexp.MustCompile(`(?i)\bcase((?:[ -]?\d+(?: and |, )?)+)`)
	number := regexp.MustCompile(`\d+`)
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "compaction/cases_test.go" {
			return err
		}
		text := filepath.Base(path)
		if strings.HasSuffix(path, "_test.go") {
			data, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			text = string(data)
		} else if !strings.Contains(path, "testdata/") {
			return nil
		}
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			for _, digits := range number.FindAllString(match[1], -1) {
				n, _ := strconv.Atoi(digits)
				found[n] = append(found[n], path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	later := slices.Concat(func() (all [][]int) {
		for _, numbers := range deferred {
			all = append(all, numbers)
		}
		return all
	}()...)
	for n := 1; n <= 100; n++ {
		switch has, waits := len(found[n]) > 0, slices.Contains(later, n); {
		case has && waits:
			t.Errorf("case %d is deferred, but %s has it", n, found[n])
		case !has && !waits:
			t.Errorf("case %d has no test", n)
		}
	}
}
