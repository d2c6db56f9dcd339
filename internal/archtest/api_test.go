package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// apiFile lists every exported name of adk-go v2.2.0, a line each under the
// package that has it: its kind (C, F, M, T, V for constants, functions,
// methods, types and variables), for methods the receiver, and the declaration.
// Names and signatures are facts; no code of adk-go is in it.
const apiFile = "testdata/adk-go-v2.2.0.txt"

// absentPackages are those of adk-go that are not here, and why.
var absentPackages = map[string]string{
	"agent/remoteagent":                   "A2A is a protocol of its own, with its own module; an agent.Agent can speak it",
	"agent/remoteagent/v2":                "as agent/remoteagent",
	"agent/workflowagent":                 "graph workflows; sequential, parallel and loop agents are here",
	"workflow":                            "graph workflows",
	"artifact/gcsartifact":                "a service of Google Cloud; artifact.Service has a public suite to write one with",
	"memory/vertexai":                     "a service of Google Cloud",
	"session/vertexai":                    "a service of Google Cloud",
	"session/sessiontestsuite":            "session/sessiontest, with what compaction needs of a store",
	"model/apigee":                        "Gemini behind a proxy: gemini.NewModel takes a base URL and headers",
	"tool/skilltoolset":                   "skills are files; a toolset that reads them needs nothing of the SDK",
	"tool/skilltoolset/skill":             "as tool/skilltoolset",
	"cmd/launcher/agentengine":            "a service of Google Cloud",
	"cmd/launcher/prod":                   "it launches the servers below",
	"cmd/launcher/web":                    "servers are the application's; the inspector is an http.Handler",
	"cmd/launcher/web/a2a":                "as cmd/launcher/web",
	"cmd/launcher/web/agentengine":        "as cmd/launcher/web",
	"cmd/launcher/web/api":                "as cmd/launcher/web",
	"cmd/launcher/web/triggers/eventarc":  "as cmd/launcher/web",
	"cmd/launcher/web/triggers/pubsub":    "as cmd/launcher/web",
	"cmd/launcher/web/webui":              "as cmd/launcher/web",
	"server/adka2a":                       "as cmd/launcher/web",
	"server/adka2a/v2":                    "as cmd/launcher/web",
	"server/adkrest":                      "as cmd/launcher/web",
	"server/adkrest/controllers":          "as cmd/launcher/web",
	"server/adkrest/controllers/triggers": "as cmd/launcher/web",
	"server/agentengine":                  "as cmd/launcher/web",
}

// gaps are what else of adk-go is not here, or is otherwise, and why. A name is
// of the form package.Name, package.Type.Method or package.Type.Field. An entry
// that is no gap any more fails the test.
var gaps = map[string]string{
	"agent.LiveRequest":     live,
	"agent.LiveRunConfig":   live,
	"agent.LiveSession":     live,
	"runner.Runner.RunLive": live,

	"agent.NewCleanToolContextTestOnly":            "for adk-go's own tests; NewToolContext makes a context of a tool",
	"agent.ContextMock.InvocationContext":          stray,
	"agent.ContextMock.SetInvocationContext":       stray,
	"agent.ContextMock.WithBranch":                 stray,
	"agent.StrictContextMock.InvocationContext":    stray,
	"agent.StrictContextMock.SetInvocationContext": stray,
	"agent.StrictContextMock.WithBranch":           stray,

	"agent/llmagent.PrepareLLMAgentInput":  "for graph workflows",
	"agent/llmagent.ProcessLLMAgentOutput": "for graph workflows",
	"agent/llmagent.RunLLMAgentAsNode":     "for graph workflows",
	"agent/llmagent.Mode":                  "the type is this package's own, with the same constants",

	"cmd/launcher.Config.A2AOptions":   "there is no A2A server",
	"telemetry.WithGcpQuotaProject":    cloud,
	"telemetry.WithGcpResourceProject": cloud,
	"telemetry.WithGoogleCredentials":  cloud,
	"telemetry.WithOtelToCloud":        cloud,

	"tool/exampletool.New":        "returns an interface, where adk-go returns a type that has no name outside",
	"tool/loadmemorytool.New":     "returns an interface that has a name outside",
	"tool/preloadmemorytool.New":  "returns an interface, where adk-go returns a type that has no name outside",
	"tool/mcptoolset.Config.Auth": "signing in is the transport's: one of the MCP SDK takes an http.Client or an OAuth handler",
	"tool/mcptoolset.MCPClient":   "the connection inside the toolset",
}

const (
	live  = "live sessions, of sound and video, are not here"
	stray = "of no interface, so nothing calls it"
	cloud = "a service of Google Cloud; telemetry.WithSpanProcessors takes any exporter"
)

// TestAPI compares the exported names of adk-go with ours: a program that uses
// one of them has to compile after its imports were changed. Ours may be more:
// further fields, methods and functions do not break a program.
func TestAPI(t *testing.T) {
	m := load(t)
	listing, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	theirs := sources(string(listing))
	found := map[string]string{} // the gaps there are
	names := 0
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		p := m.packages[m.path("./"+name)]
		_, absent := absentPackages[name]
		if absent != (p == nil) {
			t.Errorf("package %s: is here: %v; is listed as absent: %v", name, p != nil, absent)
		}
		if p == nil {
			continue
		}
		var files []*ast.File
		for _, file := range m.parse(t, p, p.GoFiles) {
			files = append(files, file)
		}
		ours := declared(files)
		names += strings.Count(theirs[name], "\n")
		file, err := parser.ParseFile(token.NewFileSet(), name, "package p\n"+theirs[name], parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", apiFile, err)
		}
		for what, decl := range declared([]*ast.File{file}) {
			of, _, member := strings.Cut(what, ".")
			if !exported(what) || member && ours[of] == "" {
				continue // a type that is missing is one gap
			}
			if difference := compare(decl, lookUp(ours, what)); difference != "" {
				found[name+"."+what] = difference
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if gaps[name] == "" {
			t.Errorf("%s: %s", name, found[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gaps)) {
		if found[name] == "" {
			t.Errorf("%s is listed as a gap (%s), and is none", name, gaps[name])
		}
	}
	t.Logf("%d names of %d packages compared, %d gaps with a reason; %d packages are absent", names, len(theirs)-len(absentPackages), len(gaps), len(absentPackages))
}

// compare says how what adk-go declares is not what we declare, or "".
func compare(theirs, ours string) string {
	switch {
	case ours == "":
		return "is missing"
	case theirs != ours:
		return fmt.Sprintf("is %s, in adk-go %s", ours, theirs)
	}
	return ""
}

// sources are the declarations that apiFile lists, as Go, by package.
func sources(listing string) map[string]string {
	packages := map[string]string{}
	var name string
	for line := range strings.Lines(listing) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "###":
			name, _, _ = strings.Cut(rest, " ")
			packages[name] = ""
		case "C":
			packages[name] += "const " + rest + "\n"
		case "F":
			packages[name] += rest + "\n"
		case "M":
			_, function, _ := strings.Cut(rest, " ")
			packages[name] += function + "\n"
		case "T":
			packages[name] += "type " + rest + "\n"
		case "V":
			if !strings.Contains(rest, " ") {
				rest += " error"
			}
			packages[name] += "var " + rest + "\n"
		}
	}
	return packages
}

func exported(name string) bool {
	return !slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return !ast.IsExported(part) })
}

// declared are the names of a package: a text for each that two
// declarations share if a program can use both alike, without the names of
// parameters and tags. Fields, and methods of interfaces,
// have entries of their own.
func declared(files []*ast.File) map[string]string {
	names := map[string]string{}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				name := decl.Name.Name
				if decl.Recv != nil {
					name = receiver(decl.Recv.List[0].Type) + "." + name
				}
				names[name] = typeParams(decl.Type) + text(decl.Type)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					declare(names, decl.Tok, spec)
				}
			}
		}
	}
	return names
}

// lookUp is what a package declares under a name: Type.Member may come from a
// type that is embedded in Type, or that it is an alias of.
func lookUp(names map[string]string, name string) string {
	of, member, ok := strings.Cut(name, ".")
	if names[name] != "" || !ok {
		return names[name]
	}
	if alias := names[of]; names[alias] != "" {
		return lookUp(names, alias+"."+member)
	}
	for field, decl := range names {
		if embedded, ok := strings.CutPrefix(field, of+"."); ok && embedded == strings.TrimPrefix(decl, "*") {
			if found := lookUp(names, embedded+"."+member); found != "" {
				return found
			}
		}
	}
	return ""
}

func declare(names map[string]string, tok token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names[name.Name] = tok.String()
		}
	case *ast.TypeSpec:
		name := spec.Name.Name
		switch of := spec.Type.(type) {
		case *ast.StructType:
			names[name] = "struct"
			members(names, name, of.Fields)
		case *ast.InterfaceType:
			names[name] = "interface"
			members(names, name, of.Methods)
		default:
			names[name] = text(of)
		}
	}
}

func members(names map[string]string, of string, list *ast.FieldList) {
	for _, field := range list.List {
		for _, name := range field.Names {
			names[of+"."+name.Name] = text(field.Type)
		}
		if len(field.Names) == 0 {
			names[of+"."+receiver(field.Type)] = text(field.Type)
		}
	}
}

// receiver is the name of a type without its package, pointer and parameters.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.SelectorExpr:
		return of.Sel.Name
	case *ast.Ident:
		return of.Name
	}
	return ""
}

func typeParams(of *ast.FuncType) string {
	if of.TypeParams == nil {
		return ""
	}
	return fmt.Sprintf("[%d] ", of.TypeParams.NumFields())
}

// text is a type without the names of parameters.
func text(of ast.Expr) string {
	ast.Inspect(of, func(n ast.Node) bool {
		if function, ok := n.(*ast.FuncType); ok {
			function.TypeParams = nil
			function.Params = unnamed(function.Params)
			function.Results = unnamed(function.Results)
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), of); err != nil {
		panic(err) // a type that was parsed can be printed
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func unnamed(list *ast.FieldList) *ast.FieldList {
	if list == nil {
		return nil
	}
	types := &ast.FieldList{}
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			types.List = append(types.List, &ast.Field{Type: field.Type})
		}
	}
	return types
}
