package artifact_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/platform"
)

func Example() {
	ctx := context.Background()
	service := artifact.InMemoryService()
	for _, text := range []string{"pack", "pack, then go"} {
		saved, err := service.Save(ctx, &artifact.SaveRequest{
			AppName: "travel", UserID: "ada", SessionID: "s1", FileName: "plan.txt", Part: genai.NewPartFromText(text),
		})
		fmt.Println("saved version", saved.Version, err)
	}
	for _, version := range []int64{1, 0} {
		loaded, err := service.Load(ctx, &artifact.LoadRequest{
			AppName: "travel", UserID: "ada", SessionID: "s1", FileName: "plan.txt", Version: version,
		})
		fmt.Println(version, loaded.Part.Text, err)
	}
	// Output:
	// saved version 1 <nil>
	// saved version 2 <nil>
	// 1 pack <nil>
	// 0 pack, then go <nil>
}

func save(t *testing.T, s artifact.Service, session, name, text string) int64 {
	t.Helper()
	saved, err := s.Save(t.Context(), &artifact.SaveRequest{AppName: "app", UserID: "ada", SessionID: session, FileName: name, Part: genai.NewPartFromText(text)})
	if err != nil {
		t.Fatal(err)
	}
	return saved.Version
}

func load(t *testing.T, s artifact.Service, session, name string, version int64) string {
	t.Helper()
	loaded, err := s.Load(t.Context(), &artifact.LoadRequest{AppName: "app", UserID: "ada", SessionID: session, FileName: name, Version: version})
	if errors.Is(err, artifact.ErrNotFound) && errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Part.Text
}

func list(t *testing.T, s artifact.Service, session string) string {
	t.Helper()
	listed, err := s.List(t.Context(), &artifact.ListRequest{AppName: "app", UserID: "ada", SessionID: session})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(listed.FileNames, " ")
}

func TestWhoseAFileIs(t *testing.T) {
	s := artifact.InMemoryService()
	save(t, s, "s1", "b", "of s1")
	save(t, s, "s1", "a", "of s1")
	save(t, s, "s2", "b", "of s2")
	save(t, s, "s1", "user:u", "of ada")
	for what, got := range map[string][2]string{
		"files of s1":      {list(t, s, "s1"), "a b user:u"},
		"files of s2":      {list(t, s, "s2"), "b user:u"},
		"b of s2":          {load(t, s, "s2", "b", 0), "of s2"},
		"a of s2":          {load(t, s, "s2", "a", 0), "(none)"},
		"u in s2":          {load(t, s, "s2", "user:u", 0), "of ada"},
		"a version of b":   {load(t, s, "s1", "b", 2), "(none)"},
		"the first of b":   {load(t, s, "s1", "b", 1), "of s1"},
		"files of nothing": {list(t, s, "s3"), "user:u"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
}

func TestVersions(t *testing.T) {
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ctx := platform.WithTimeProvider(t.Context(), func() time.Time { return created })
	s := artifact.InMemoryService()
	for i := range 3 {
		save(t, s, "s1", "f", fmt.Sprint("v", i+1))
	}
	versions := func() []int64 {
		t.Helper()
		got, err := s.Versions(ctx, &artifact.VersionsRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f"})
		if err != nil {
			if !errors.Is(err, artifact.ErrNotFound) {
				t.Fatal(err)
			}
			return nil
		}
		return got.Versions
	}
	remove := func(version int64) {
		t.Helper()
		if err := s.Delete(ctx, &artifact.DeleteRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f", Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want ...int64) {
		t.Helper()
		if diff := cmp.Diff(want, versions()); diff != "" {
			t.Error(diff)
		}
	}
	expect(3, 2, 1)
	remove(2)
	expect(3, 1)
	remove(7) // is not there
	expect(3, 1)
	if _, err := s.Save(ctx, &artifact.SaveRequest{
		AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f", Version: 5,
		Part: genai.NewPartFromBytes([]byte("x"), "image/png"),
	}); err != nil {
		t.Fatal(err)
	}
	expect(5, 3, 1)
	got, err := s.GetArtifactVersion(ctx, &artifact.GetArtifactVersionRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f"})
	if err != nil {
		t.Fatal(err)
	}
	want := &artifact.ArtifactVersion{Version: 5, CanonicalURI: "memory:app/ada/s1/f/5", CreateTime: created, MimeType: "image/png"}
	if diff := cmp.Diff(want, got.ArtifactVersion); diff != "" {
		t.Error(diff)
	}
	remove(0)
	expect()
	if names := list(t, s, "s1"); names != "" {
		t.Errorf("files %q", names)
	}
}

// TestCopies: neither who saved nor who loaded can change what is stored.
func TestCopies(t *testing.T) {
	s := artifact.InMemoryService()
	part := genai.NewPartFromBytes([]byte("abc"), "text/csv")
	req := &artifact.SaveRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f", Part: part}
	if _, err := s.Save(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		loaded, err := s.Load(t.Context(), &artifact.LoadRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f"})
		if err != nil || string(loaded.Part.InlineData.Data) != "abc" {
			t.Errorf("%s, %v", loaded.Part.InlineData.Data, err)
		}
		part.InlineData.Data[0] = 'X'
		loaded.Part.InlineData.Data[0] = 'Y'
	}
}

func TestManyAtOnce(t *testing.T) {
	s := artifact.InMemoryService()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { save(t, s, "s1", "f", "x") })
	}
	wg.Wait()
	if n := save(t, s, "s1", "f", "x"); n != 21 {
		t.Errorf("version %d", n)
	}
}

func TestUnfitRequests(t *testing.T) {
	s := artifact.InMemoryService()
	ctx := t.Context()
	part := genai.NewPartFromText("x")
	for want, err := range map[string]error{
		"AppName, UserID and SessionID must be set": second(s.List(ctx, &artifact.ListRequest{AppName: "a", UserID: "u"})),
		"FileName must be set":                      second(s.Load(ctx, &artifact.LoadRequest{AppName: "a", UserID: "u", SessionID: "s"})),
		`"../x" is a path`:                          second(s.Save(ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "../x", Part: part})),
		`".." is a path`:                            second(s.Versions(ctx, &artifact.VersionsRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: ".."})),
		`"a\\b" is a path`:                          s.Delete(ctx, &artifact.DeleteRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: `a\b`}),
		"neither text nor inline data":              second(s.Save(ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f", Part: &genai.Part{}})),
		"Version is negative (-1)":                  second(s.GetArtifactVersion(ctx, &artifact.GetArtifactVersionRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f", Version: -1})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Save(ended, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f", Part: part}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
