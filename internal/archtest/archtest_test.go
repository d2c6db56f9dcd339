// Package archtest checks how the module is built up: who may import whom, and
// a few habits that keep the packages readable. It has tests only; the tables
// at the top of this file are the rules, each with its reason.
//
// In a pattern, "./x" is the package x of this module, any other path is a
// package of the standard library or of another module, and "/..." adds all
// packages below.
//
//	go test ./internal/archtest
package archtest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// importRules say what a package must not import. With deep they count what
// its imports import, too.
var importRules = []struct {
	of     string   // the packages that the rule is for
	but    []string // of these, those that it is not for
	never  []string // what they must not import
	except []string // of this, what they may
	deep   bool
	why    string
}{
	{
		of: "./model", never: []string{"./..."}, except: []string{"./internal/clone"}, deep: true,
		why: "everything is built on the model interface; it stands on nothing",
	},
	{
		of: "./session", never: []string{"./agent/...", "./tool/...", "./runner", "./compaction", "./internal/context"},
		except: []string{"./tool/toolconfirmation"}, deep: true,
		why: "a log of events must be readable without anything that runs",
	},
	{
		of: "./session", never: []string{"database/sql", "gorm.io/..."}, deep: true,
		why: "who keeps sessions in memory links no database",
	},
	{
		of: "./internal/context", never: []string{"./..."},
		except: []string{"./session", "./model", "./tool/toolconfirmation", "./internal/..."},
		why:    "a prompt is made of events and of nothing else",
	},
	{
		of: "./internal/context", never: []string{"os", "net/http", "database/sql", "log", "log/slog"},
		why: "a prompt is a pure function of events",
	},
	{
		of: "./compaction", never: []string{"./agent/...", "./tool/...", "./runner", "./session/database"},
		except: []string{"./tool/toolconfirmation"}, deep: true,
		why: "compaction works on any log, for any agent, in any store",
	},
	{
		of: "./artifact", never: []string{"./..."}, except: []string{"./internal/clone", "./platform"}, deep: true,
		why: "a file belongs to a session by its name alone",
	},
	{
		of: "./memory", never: []string{"./agent/...", "./runner", "./compaction", "./session/database"}, deep: true,
		why: "what is remembered is made of sessions, whoever runs",
	},
	{
		of: "./agent", never: []string{"./runner", "./agent/llmagent", "./tool/..."},
		except: []string{"./tool/toolconfirmation"}, deep: true,
		why: "the contexts that tools get are defined here, so tools import this package",
	},
	{
		of: "./tool/...", never: []string{"./runner", "./agent/llmagent"}, deep: true,
		why: "a tool serves agents of every kind, and does not run them",
	},
	{
		of: "./internal/recall", never: []string{"./agent/...", "./tool/...", "./compaction"}, except: []string{"./tool/toolconfirmation"}, deep: true,
		why: "what was compacted can be looked up without an agent",
	},
	{
		of: "./...", but: []string{"./session/database", "./cmd/...", "./examples/...", "./internal/testdb"},
		never: []string{"./session/database"},
		why:   "only a program chooses the store; packages take a session.Service",
	},
	{
		of: "./...", but: []string{"./model/openaimodel"}, never: []string{"github.com/openai/openai-go/..."},
		why: "who talks to another provider does not compile this one's client",
	},
	{
		of: "./...", but: []string{"./model/anthropicmodel"}, never: []string{"github.com/anthropics/anthropic-sdk-go/..."},
		why: "who talks to another provider does not compile this one's client",
	},
	{
		of: "./...", but: []string{"./runner", "./cmd/...", "./examples/...", "./server/...", "./internal/replay"},
		never: []string{"./runner"},
		why:   "running is the outermost layer; what it runs must not know it",
	},
	{
		of: "./...", but: []string{"./telemetry"}, never: []string{"go.opentelemetry.io/otel/sdk/..."},
		why: "spans are made through the API; the SDK is for who listens to them",
	},
	{
		of:     "./cmd/launcher/...",
		never:  []string{"database/sql", "gorm.io/...", "./model/...", "./internal/replay", "./cmd/recap", "github.com/openai/openai-go/...", "github.com/anthropics/anthropic-sdk-go/...", "github.com/spf13/..."},
		except: []string{"./model"}, deep: true,
		why: "a program that is launched chooses its model and its store; it links no others",
	},
	{
		of: "./...", never: []string{"google.golang.org/grpc/..."},
		why: "genai's sign-in to Google Cloud brings it; nothing here speaks it",
	},
	{
		of: "./...", but: []string{"./cmd/...", "./examples/..."},
		never: []string{"./cmd/...", "./examples/..."},
		why:   "programs are not libraries",
	},
}

// core are the packages that every user of the module links.
var core = []string{
	"./model", "./session", "./artifact", "./memory", "./compaction", "./internal/context", "./agent", "./agent/llmagent", "./tool", "./plugin", "./runner",
}

// coreDependencies are the modules that core packages may depend on, beside
// what these bring with them. Everything else, such as databases, tokenizers,
// plots, command lines and the clients of other providers, is for the packages
// that need it.
var coreDependencies = []struct{ pattern, why string }{
	{"google.golang.org/genai/...", "its types are the module's contents, calls and schemas"},
	{"github.com/google/jsonschema-go/...", "the schema of what a user is asked for is part of an event"},
	{"github.com/google/uuid", "IDs of events and invocations"},
	{"go.opentelemetry.io/otel/...", "the API, without which spans and metrics of an application miss compaction; no exporter"},
}

// pure lists packages, or files of them, that are functions of their input
// alone: no clock, no goroutine, no input or output.
var pure = []struct {
	pkg   string
	files []string // nil: all
	why   string
}{
	{"./internal/context", nil, "the same events must give the same prompt"},
	{"./internal/exact", nil, "which values are exact depends on the text alone"},
	{"./internal/estimate", nil, "the same text has the same size"},
	{"./compaction", []string{"window.go", "pending.go", "rollup.go", "tail.go", "transcript.go", "estimate.go"}, "what is summarized is planned apart from doing it, so that random logs can test it"},
}

// impure are the imports that pure code does without.
var impure = []string{"os", "os/exec", "net", "net/http", "database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "sync"}

// planned are patterns above that nothing matches yet.
var planned = []string{}

// maxFunctionLines is how long a function may be. Packages that are not listed
// have the limit of "./...".
var maxFunctionLines = map[string]int{
	"./session": 80, "./compaction": 80, "./internal/context": 80, "./runner": 80,
	"./...": 120,
}

// withoutExample are the public packages that have no example, and why.
var withoutExample = map[string]string{
	"./artifact/artifacttest": "its one function takes a *testing.T, which an example has not",
}

func TestImports(t *testing.T) {
	m := load(t)
	for _, rule := range importRules {
		for _, p := range m.ours() {
			if !m.matches(rule.of, p.ImportPath) || m.matchesAny(rule.but, p.ImportPath) {
				continue
			}
			imports := p.Imports
			if rule.deep {
				imports = p.Deps
			}
			for _, path := range imports {
				if path != p.ImportPath && m.matchesAny(rule.never, path) && !m.matchesAny(rule.except, path) {
					t.Errorf("%s imports %s: %s", p.ImportPath, path, rule.why)
				}
			}
		}
	}
}

func TestCoreDependsOnLittle(t *testing.T) {
	m := load(t)
	allowed := map[string]bool{}
	for _, dependency := range coreDependencies {
		for path, p := range m.packages {
			if m.matches(dependency.pattern, path) {
				allowed[path] = true
				for _, path := range p.Deps {
					allowed[path] = true
				}
			}
		}
	}
	for _, name := range core {
		for _, path := range m.get(t, name).Deps {
			p := m.packages[path]
			if !p.Standard && !allowed[path] && !m.matches("./...", path) {
				t.Errorf("%s depends on %s: either it belongs into another package, or coreDependencies says why not", name, path)
			}
		}
	}
}

func TestPureCode(t *testing.T) {
	m := load(t)
	for _, rule := range pure {
		p := m.get(t, rule.pkg)
		for _, name := range rule.files {
			if !slices.Contains(p.GoFiles, name) {
				t.Errorf("%s has no file %s", rule.pkg, name)
			}
		}
		for name, file := range m.parse(t, p, p.GoFiles) {
			if rule.files != nil && !slices.Contains(rule.files, name) {
				continue
			}
			for _, what := range effects(file) {
				t.Errorf("%s: %s uses %s: %s", rule.pkg, name, what, rule.why)
			}
		}
	}
}

// effects lists what in a file is not pure.
func effects(file *ast.File) []string {
	var found []string
	for _, spec := range file.Imports {
		if path := strings.Trim(spec.Path.Value, `"`); slices.Contains(impure, path) {
			found = append(found, path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "a goroutine")
		case *ast.SelectorExpr:
			name := n.Sel.Name
			if x, ok := n.X.(*ast.Ident); !ok || x.Name != "time" && x.Name != "platform" {
				break
			}
			if slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "NewTimer", "NewTicker"}, name) {
				found = append(found, "the clock")
			}
		}
		return true
	})
	return found
}

func TestEveryPackageHasOneComment(t *testing.T) {
	m := load(t)
	for _, p := range m.ours() {
		var commented []string
		for name, file := range m.parse(t, p, p.GoFiles) {
			if file.Doc != nil {
				commented = append(commented, name)
			}
		}
		if len(p.GoFiles) > 0 && len(commented) != 1 {
			t.Errorf("%s has %d package comments %v, want one", p.ImportPath, len(commented), commented)
		}
	}
}

func TestFunctionsAreShort(t *testing.T) {
	m := load(t)
	for _, p := range m.ours() {
		limit, ok := maxFunctionLines["."+strings.TrimPrefix(p.ImportPath, m.module)]
		if !ok {
			limit = maxFunctionLines["./..."]
		}
		for name, file := range m.parse(t, p, p.GoFiles) {
			for _, decl := range file.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if lines := m.lines(function); lines > limit {
					t.Errorf("%s: %s in %s has %d lines, at most %d", p.ImportPath, function.Name.Name, name, lines, limit)
				}
			}
		}
	}
}

func TestEveryPublicPackageHasAnExample(t *testing.T) {
	m := load(t)
	for name := range withoutExample {
		if m.packages[m.path(name)] == nil {
			t.Errorf("withoutExample names %s, which does not exist", name)
		}
	}
	for _, p := range m.ours() {
		name := "." + strings.TrimPrefix(p.ImportPath, m.module)
		if p.Name == "main" || m.matchesAny([]string{"./internal/...", "./examples/..."}, p.ImportPath) {
			continue
		}
		checked := m.hasCheckedExample(t, p)
		if _, excepted := withoutExample[name]; checked == excepted {
			t.Errorf("%s: has an example with output: %v; is listed in withoutExample: %v", name, checked, excepted)
		}
	}
}

func (m *module) hasCheckedExample(t *testing.T, p *pkg) bool {
	t.Helper()
	for _, file := range m.parse(t, p, slices.Concat(p.TestGoFiles, p.XTestGoFiles)) {
		for _, example := range doc.Examples(file) {
			if example.Output != "" || example.EmptyOutput {
				return true
			}
		}
	}
	return false
}

// A rule about a package that was renamed would hold for ever.
func TestRulesNamePackagesThatExist(t *testing.T) {
	m := load(t)
	patterns := slices.Clone(core)
	for _, rule := range importRules {
		patterns = slices.Concat(patterns, []string{rule.of}, rule.but, rule.never, rule.except)
	}
	for _, dependency := range coreDependencies {
		patterns = append(patterns, dependency.pattern)
	}
	for _, rule := range pure {
		patterns = append(patterns, rule.pkg)
	}
	for pattern := range maxFunctionLines {
		patterns = append(patterns, pattern)
	}
	slices.Sort(patterns)
	for _, pattern := range slices.Compact(patterns) {
		exists := m.exists(pattern)
		if isPlanned := slices.Contains(planned, pattern); exists == isPlanned {
			t.Errorf("%s: exists: %v; is listed as planned: %v", pattern, exists, isPlanned)
		}
	}
}

func TestEveryDirectDependencyHasAReason(t *testing.T) {
	contributing, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for line := range strings.Lines(string(contributing)) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.TrimSpace(cells[2]) != "" {
			reasons = append(reasons, strings.Trim(cells[1], " `"))
		}
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	run(t, &mod, "go", "mod", "edit", "-json")
	for _, required := range mod.Require {
		if !required.Indirect && !slices.Contains(reasons, required.Path) {
			t.Errorf("CONTRIBUTING.md does not say why the module depends on %s", required.Path)
		}
	}
}

func TestMatches(t *testing.T) {
	m := &module{module: "example.org/m"}
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"./a", "example.org/m/a", true},
		{"./a", "example.org/m/a/b", false},
		{"./a", "a", false},
		{"./a/...", "example.org/m/a", true},
		{"./a/...", "example.org/m/a/b", true},
		{"./a/...", "example.org/m/ab", false},
		{"./...", "example.org/m/a", true},
		{"os", "os", true},
		{"os", "os/exec", false},
		{"gorm.io/...", "gorm.io/gorm", true},
	}
	for _, test := range tests {
		if got := m.matches(test.pattern, test.path); got != test.want {
			t.Errorf("%s matches %s: %v, want %v", test.pattern, test.path, got, test.want)
		}
	}
}

func TestEffects(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import ("os"; "strings"; "time")
func f() { go f(); _ = time.Now(); _ = time.Second; _ = strings.ToUpper("a"); os.Exit(1) }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := effects(file), []string{"os", "a goroutine", "the clock"}; !slices.Equal(got, want) {
		t.Errorf("effects are %v, want %v", got, want)
	}
}

// module is what the rules are checked against.
type module struct {
	module   string
	packages map[string]*pkg // with all that they depend on, by import path
	fset     *token.FileSet
}

// pkg is a package as the go command describes it.
type pkg struct {
	Dir, ImportPath, Name              string
	Standard                           bool
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, Deps                      []string
}

func load(t *testing.T) *module {
	t.Helper()
	var main struct{ Path string }
	run(t, &main, "go", "list", "-m", "-json")
	m := &module{module: main.Path, packages: map[string]*pkg{}, fset: token.NewFileSet()}
	for decoder := json.NewDecoder(output(t, "go", "list", "-e", "-deps", "-json", "./...")); decoder.More(); {
		var p pkg
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		m.packages[p.ImportPath] = &p
	}
	return m
}

// run decodes what a command, run at the root of the module, prints.
func run(t *testing.T, into any, name string, args ...string) {
	t.Helper()
	if err := json.NewDecoder(output(t, name, args...)).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func output(t *testing.T, name string, args ...string) *bytes.Buffer {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "../..", &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return &stdout
}

// ours are the packages of the module, by import path.
func (m *module) ours() []*pkg {
	var ours []*pkg
	for path, p := range m.packages {
		if m.matches("./...", path) {
			ours = append(ours, p)
		}
	}
	slices.SortFunc(ours, func(a, b *pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return ours
}

// path is the import path of a pattern without "/...".
func (m *module) path(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "."); ok {
		return m.module + rest
	}
	return pattern
}

func (m *module) get(t *testing.T, name string) *pkg {
	t.Helper()
	p := m.packages[m.path(name)]
	if p == nil {
		t.Fatalf("there is no package %s", name)
	}
	return p
}

func (m *module) matches(pattern, path string) bool {
	if tree, ok := strings.CutSuffix(m.path(pattern), "/..."); ok {
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == m.path(pattern)
}

func (m *module) matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return m.matches(pattern, path) })
}

func (m *module) exists(pattern string) bool {
	for path := range m.packages {
		if m.matches(pattern, path) {
			return true
		}
	}
	return false
}

// parse returns the syntax of files of a package, by name.
func (m *module) parse(t *testing.T, p *pkg, names []string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, name := range names {
		file, err := parser.ParseFile(m.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

func (m *module) lines(n ast.Node) int {
	return m.fset.Position(n.End()).Line - m.fset.Position(n.Pos()).Line + 1
}
