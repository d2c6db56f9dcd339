// Package artifacttest has the tests that every artifact.Service passes. They
// are the contract of package artifact:
//
//	func TestService(t *testing.T) {
//		artifacttest.Run(t, func(t *testing.T) artifact.Service { return newMyService(t) })
//	}
//
// Each test opens a service of its own, so they neither share artifacts nor
// depend on an order.
package artifacttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/platform"
)

// Run tests the service that open returns: a new one, without artifacts, for
// each call.
func Run(t *testing.T, open func(t *testing.T) artifact.Service) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"a file belongs to its session, or to its user", scopes},
		{"any name is a name of its own", names},
		{"saving makes versions", versions},
		{"a version can be chosen", chosenVersions},
		{"what is deleted is not there", deletion},
		{"what is stored comes back as it was", roundTrip},
		{"what is stored is a copy", copies},
		{"each of many writers gets a version", writers},
		{"readers see whole versions", readers},
		{"unfit requests are refused", unfitRequests},
		{"a cancelled context does nothing", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&fixture{T: t, ctx: t.Context(), service: open(t)})
		})
	}
}

// fixture is a test with the service it is about.
type fixture struct {
	*testing.T
	ctx     context.Context
	service artifact.Service
}

// scope is where a file is.
type scope struct{ app, user, session string }

var here = scope{"travel", "ada", "s1"}

func (f *fixture) save(in scope, name, text string) int64 {
	f.Helper()
	saved, err := f.service.Save(f.ctx, &artifact.SaveRequest{AppName: in.app, UserID: in.user, SessionID: in.session, FileName: name, Part: genai.NewPartFromText(text)})
	if err != nil {
		f.Fatalf("saving %q: %v", name, err)
	}
	return saved.Version
}

// load is the text of a file, or "(none)".
func (f *fixture) load(in scope, name string, version int64) string {
	f.Helper()
	loaded, err := f.service.Load(f.ctx, &artifact.LoadRequest{AppName: in.app, UserID: in.user, SessionID: in.session, FileName: name, Version: version})
	if f.missing(err) {
		return "(none)"
	}
	if err != nil {
		f.Fatalf("loading %q: %v", name, err)
	}
	return loaded.Part.Text
}

// missing reports whether err says that there is no such file. It must match
// both errors that callers know.
func (f *fixture) missing(err error) bool {
	f.Helper()
	if errors.Is(err, artifact.ErrNotFound) != errors.Is(err, fs.ErrNotExist) {
		f.Errorf("error %v matches one of artifact.ErrNotFound and fs.ErrNotExist only", err)
	}
	return errors.Is(err, artifact.ErrNotFound)
}

func (f *fixture) list(in scope) []string {
	f.Helper()
	listed, err := f.service.List(f.ctx, &artifact.ListRequest{AppName: in.app, UserID: in.user, SessionID: in.session})
	if err != nil {
		f.Fatal(err)
	}
	return listed.FileNames
}

func (f *fixture) versions(name string) []int64 {
	f.Helper()
	got, err := f.service.Versions(f.ctx, &artifact.VersionsRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: name})
	if f.missing(err) {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	return got.Versions
}

func (f *fixture) delete(name string, version int64) {
	f.Helper()
	if err := f.service.Delete(f.ctx, &artifact.DeleteRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: name, Version: version}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) expect(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" {
		f.Errorf("%s: -want +got:\n%s", what, diff)
	}
}

func scopes(f *fixture) {
	elsewhere := map[string]scope{
		"session": {"travel", "ada", "s2"},
		"user":    {"travel", "bob", "s1"},
		"app":     {"shop", "ada", "s1"},
	}
	f.save(here, "b", "of s1")
	f.save(here, "a", "of s1")
	f.save(here, "user:u", "of ada")
	for what, other := range elsewhere {
		var want []string
		if f.load(other, "b", 0) != "(none)" {
			f.Errorf("another %s sees the file", what)
		}
		if f.save(other, "b", what) != 1 {
			f.Errorf("another %s has no file of its own", what)
		}
		if shared := f.load(other, "user:u", 0); what == "session" {
			f.expect("the user's file in another session", shared, "of ada")
			want = []string{"b", "user:u"}
		} else {
			f.expect("the user's file for another "+what, shared, "(none)")
			want = []string{"b"}
		}
		f.expect("files of another "+what, f.list(other), want)
	}
	f.expect("files", f.list(here), []string{"a", "b", "user:u"})
	f.expect("the file", f.load(here, "b", 0), "of s1")
	f.expect("files of a session without", f.list(scope{"travel", "eve", "s1"}), []string{})
	f.expect("versions of a file of the user", f.save(elsewhere["session"], "user:u", "newer"), int64(2))
	f.expect("the user's file", f.load(here, "user:u", 0), "newer")
}

// names are all different, some only on some file systems.
func names(f *fixture) {
	all := []string{
		"report.pdf", "Report.pdf", "report", "report.", ".report", "...", "report pdf", " report", "report%2Fpdf", "CON", "nul.txt",
		"a:b", "a*b?", "user", "sessions", "1", "meta.json", "data", ".tmp", "報告.pdf", "é", "e\u0301", "line\nbreak", "nul\x00byte",
		strings.Repeat("n", 300), strings.Repeat("n", 301), "user:", "user:user:", "user:report.pdf",
	}
	for _, name := range all {
		f.expect("version of "+name, f.save(here, name, name), int64(1))
	}
	for _, name := range all {
		f.expect(name, f.load(here, name, 0), name)
	}
	slices.Sort(all)
	f.expect("files", f.list(here), all)

	// The same holds for those whose files they are.
	for i, odd := range []string{"../travel", "..", ".", "/", `\`, "a/b", "TRAVEL", strings.Repeat("s", 300), "旅行"} {
		for _, other := range []scope{{odd, "ada", "s1"}, {"travel", odd, "s1"}, {"travel", "ada", odd}} {
			f.expect(fmt.Sprint(other), f.save(other, "file", fmt.Sprint(i)), int64(1))
			f.expect(fmt.Sprint(other), f.load(other, "file", 0), fmt.Sprint(i))
		}
	}
	f.expect("files", f.list(here), all)
}

func versions(f *fixture) {
	if got := f.load(here, "f", 0); got != "(none)" {
		f.Errorf("there is %q", got)
	}
	f.expect("versions of no file", f.versions("f"), []int64(nil))
	for i := int64(1); i <= 12; i++ { // one with two digits
		f.expect("version", f.save(here, "f", fmt.Sprint("v", i)), i)
		f.expect("latest", f.load(here, "f", 0), fmt.Sprint("v", i))
	}
	f.expect("an older one", f.load(here, "f", 9), "v9")
	f.expect("one that does not exist", f.load(here, "f", 13), "(none)")
	f.expect("versions", f.versions("f"), []int64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
}

func chosenVersions(f *fixture) {
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	f.ctx = platform.WithTimeProvider(f.ctx, func() time.Time { return created })
	choose := func(version int64, part *genai.Part) {
		f.Helper()
		saved, err := f.service.Save(f.ctx, &artifact.SaveRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f", Version: version, Part: part})
		if err != nil || saved.Version != version {
			f.Fatalf("version %d: %v, %v", version, saved, err)
		}
	}
	f.save(here, "f", "first")
	choose(5, genai.NewPartFromBytes([]byte("x"), "image/png"))
	choose(1, genai.NewPartFromText("replaced"))
	f.expect("versions", f.versions("f"), []int64{5, 1})
	f.expect("the first", f.load(here, "f", 1), "replaced")
	f.expect("the next", f.save(here, "f", "next"), int64(6))
	for version, want := range map[int64]artifact.ArtifactVersion{
		5: {Version: 5, CreateTime: created, MimeType: "image/png"},
		6: {Version: 6, CreateTime: created, MimeType: "text/plain"},
		0: {Version: 6, CreateTime: created, MimeType: "text/plain"},
	} {
		got, err := f.service.GetArtifactVersion(f.ctx, &artifact.GetArtifactVersionRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f", Version: version})
		if err != nil {
			f.Fatal(err)
		}
		if got.ArtifactVersion.CanonicalURI == "" {
			f.Error("there is no URI")
		}
		got.ArtifactVersion.CanonicalURI = ""
		f.expect("what is known", *got.ArtifactVersion, want)
	}
	_, err := f.service.GetArtifactVersion(f.ctx, &artifact.GetArtifactVersionRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f", Version: 2})
	if !f.missing(err) {
		f.Errorf("of a version that does not exist: %v", err)
	}
}

func deletion(f *fixture) {
	f.delete("f", 0) // nothing to delete is no error
	f.delete("f", 3)
	for range 3 {
		f.save(here, "f", "x")
	}
	f.save(here, "user:f", "of ada")
	f.delete("f", 2)
	f.delete("f", 7)
	f.expect("versions", f.versions("f"), []int64{3, 1})
	f.expect("the deleted one", f.load(here, "f", 2), "(none)")
	f.delete("f", 3)
	f.expect("the latest is the one before", f.load(here, "f", 0), "x")
	f.delete("f", 1)
	f.expect("without versions", f.versions("f"), []int64(nil))
	f.expect("the rest", f.list(here), []string{"user:f"})
	f.save(here, "f", "new")
	f.save(here, "f", "new")
	f.delete("f", 0)
	f.expect("deleted as a whole", f.load(here, "f", 0), "(none)")
	f.delete("user:f", 0)
	f.expect("nothing is left", f.list(here), []string{})
}

func roundTrip(f *fixture) {
	big := make([]byte, 1<<20)
	for i := range big {
		big[i] = byte(i * 7)
	}
	for name, part := range map[string]*genai.Part{
		"text":             genai.NewPartFromText("a text\r\nof two lines, with \x00 and \u2028"),
		"bytes":            genai.NewPartFromBytes([]byte{0, 255, 10, 13}, "application/octet-stream"),
		"many bytes":       genai.NewPartFromBytes(big, "image/png"),
		"named bytes":      {InlineData: &genai.Blob{Data: []byte("a,b"), MIMEType: "text/csv; charset=utf-8", DisplayName: "table.csv"}},
		"without type":     {InlineData: &genai.Blob{Data: []byte("x")}},
		"with a signature": {Text: "signed", ThoughtSignature: []byte{1, 2}},
	} {
		req := &artifact.SaveRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: name, Part: part}
		if _, err := f.service.Save(f.ctx, req); err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		loaded, err := f.service.Load(f.ctx, &artifact.LoadRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: name})
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		f.expect(name, loaded.Part, part)
	}
}

func copies(f *fixture) {
	part := genai.NewPartFromBytes([]byte("abc"), "text/csv")
	if _, err := f.service.Save(f.ctx, &artifact.SaveRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f", Part: part}); err != nil {
		f.Fatal(err)
	}
	f.expect("what was saved", string(part.InlineData.Data), "abc")
	for range 2 {
		loaded, err := f.service.Load(f.ctx, &artifact.LoadRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f"})
		if err != nil {
			f.Fatal(err)
		}
		f.expect("what is stored", string(loaded.Part.InlineData.Data), "abc")
		part.InlineData.Data[0] = 'X'
		loaded.Part.InlineData.Data[0] = 'Y'
	}
}

func writers(f *fixture) {
	const many, each = 6, 5
	var wg sync.WaitGroup
	seen := make(chan int64, many*each)
	for range many {
		wg.Go(func() {
			for range each {
				saved, err := f.service.Save(f.ctx, &artifact.SaveRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f", Part: genai.NewPartFromText("x")})
				if err != nil {
					f.Error(err)
					return
				}
				seen <- saved.Version
			}
		})
	}
	wg.Wait()
	close(seen)
	var got []int64
	for version := range seen {
		got = append(got, version)
	}
	slices.Sort(got)
	slices.Reverse(got)
	if len(got) != many*each || got[0] != many*each {
		f.Errorf("versions %v", got)
	}
	f.expect("versions", f.versions("f"), got)
}

// readers read while versions are made and deleted.
func readers(f *fixture) {
	text := func(i int) string { return strings.Repeat(fmt.Sprint(i%10), 5000) }
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				loaded, err := f.service.Load(f.ctx, &artifact.LoadRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f"})
				if errors.Is(err, artifact.ErrNotFound) {
					continue
				}
				if err != nil {
					f.Error(err)
					return
				}
				if got := loaded.Part.Text; len(got) != 5000 || strings.Trim(got, got[:1]) != "" {
					f.Errorf("read %d bytes that begin with %.20q", len(got), got)
					return
				}
			}
		})
	}
	for i := range 40 {
		f.save(here, "f", text(i))
		switch i % 10 {
		case 4:
			f.delete("f", 2)
		case 9:
			f.delete("f", 0)
		}
	}
	close(done)
	wg.Wait()
}

func unfitRequests(f *fixture) {
	part := genai.NewPartFromText("x")
	for what, err := range map[string]error{
		"no user":          second(f.service.List(f.ctx, &artifact.ListRequest{AppName: "a", SessionID: "s"})),
		"no session":       second(f.service.Versions(f.ctx, &artifact.VersionsRequest{AppName: "a", UserID: "u", FileName: "f"})),
		"no app":           f.service.Delete(f.ctx, &artifact.DeleteRequest{UserID: "u", SessionID: "s", FileName: "f"}),
		"no name":          second(f.service.Load(f.ctx, &artifact.LoadRequest{AppName: "a", UserID: "u", SessionID: "s"})),
		"a path":           second(f.service.Save(f.ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "../x", Part: part})),
		"a path to load":   second(f.service.Load(f.ctx, &artifact.LoadRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "/etc/passwd"})),
		"a path to delete": f.service.Delete(f.ctx, &artifact.DeleteRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: ".."}),
		"a path of others": second(f.service.Save(f.ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: `a\b`, Part: part})),
		"a user's path":    second(f.service.Save(f.ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "user:../x", Part: part})),
		"no part":          second(f.service.Save(f.ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f"})),
		"an empty part":    second(f.service.Save(f.ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f", Part: &genai.Part{}})),
		"a negative one":   second(f.service.GetArtifactVersion(f.ctx, &artifact.GetArtifactVersionRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f", Version: -1})),
	} {
		if err == nil || f.missing(err) {
			f.Errorf("%s: error %v", what, err)
		}
	}
}

func cancelled(f *fixture) {
	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.service.Save(ended, &artifact.SaveRequest{AppName: here.app, UserID: here.user, SessionID: here.session, FileName: "f", Part: genai.NewPartFromText("x")})
	if !errors.Is(err, context.Canceled) {
		f.Errorf("error %v", err)
	}
	f.expect("files", f.list(here), []string{})
}

func second[T any](_ T, err error) error { return err }
