package fileartifact_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/artifact/artifacttest"
	"github.com/recap-adk/recap/artifact/fileartifact"
)

func open(t *testing.T, dir string) artifact.Service {
	t.Helper()
	service, err := fileartifact.NewService(dir)
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func TestService(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Service { return open(t, t.TempDir()) })
}

func Example() {
	dir, err := os.MkdirTemp("", "artifacts")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, text := range []string{"pack", "pack, then go"} {
		// Each time another process, say.
		service, err := fileartifact.NewService(dir)
		if err != nil {
			panic(err)
		}
		saved, err := service.Save(ctx, &artifact.SaveRequest{
			AppName: "travel", UserID: "ada", SessionID: "s1", FileName: "plan.txt", Part: genai.NewPartFromText(text),
		})
		fmt.Println("saved version", saved.Version, err)
	}
	// Output:
	// saved version 1 <nil>
	// saved version 2 <nil>
}

func request(name string) *artifact.SaveRequest {
	return &artifact.SaveRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: name, Part: genai.NewPartFromText("text")}
}

// files are the files below dir, without what is hidden.
func files(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLayout: the folder is what the package comment says, and nothing is left
// aside.
func TestLayout(t *testing.T) {
	dir := t.TempDir()
	service := open(t, dir)
	for _, name := range []string{"report.pdf", "user:../x", "user:report.pdf"} {
		_, err := service.Save(t.Context(), request(name))
		if (err != nil) != strings.Contains(name, "/") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := service.Delete(t.Context(), &artifact.DeleteRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "user:report.pdf"}); err != nil {
		t.Fatal(err)
	}
	got := files(t, dir)
	if len(got) != 2 || !strings.HasSuffix(got[0], "/1/data") || !strings.HasSuffix(got[1], "/1/meta.json") || !strings.HasPrefix(got[0], "app-") || !strings.Contains(got[0], "/report.pdf-") {
		t.Errorf("files %q", got)
	}
	version, err := service.GetArtifactVersion(t.Context(), &artifact.GetArtifactVersionRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "report.pdf"})
	if err != nil {
		t.Fatal(err)
	}
	uri, err := url.Parse(version.ArtifactVersion.CanonicalURI)
	if err != nil || uri.Scheme != "file" {
		t.Errorf("URI %q, %v", version.ArtifactVersion.CanonicalURI, err)
	}
	if data, err := os.ReadFile(filepath.FromSlash(uri.Path)); string(data) != "text" {
		t.Errorf("the URI leads to %q, %v", data, err)
	}
}

// TestManyServices: as many processes do, each writes through a service of its
// own.
func TestManyServices(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		service := open(t, dir)
		wg.Go(func() {
			for range 5 {
				if _, err := service.Save(t.Context(), request("f")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if saved, err := open(t, dir).Save(t.Context(), request("f")); err != nil || saved.Version != 21 {
		t.Errorf("version %v, %v", saved, err)
	}
}

// TestLinks: a link that someone put into the folder leads nowhere.
func TestLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	service := open(t, dir)
	if _, err := service.Save(t.Context(), request("f")); err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(dir, strings.SplitN(files(t, dir)[0], "/f-", 2)[0])
	if err := os.RemoveAll(session); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, session); err != nil {
		t.Skip("there are no links here: ", err)
	}
	if _, err := service.Save(t.Context(), request("f")); err == nil {
		t.Error("saved through the link")
	}
	if got := files(t, outside); len(got) != 0 {
		t.Errorf("outside there are %q", got)
	}
}

// TestDamage: what a crash of the machine may leave is an error that names the
// file, and hides nothing else.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	service := open(t, dir)
	for range 2 {
		if _, err := service.Save(t.Context(), request("f")); err != nil {
			t.Fatal(err)
		}
	}
	newest := filepath.Join(dir, filepath.FromSlash(files(t, dir)[3]))
	if !strings.HasSuffix(newest, filepath.Join("2", "meta.json")) {
		t.Fatal(newest)
	}
	load := func(version int64) error {
		_, err := service.Load(t.Context(), &artifact.LoadRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f", Version: version})
		return err
	}
	for _, content := range []string{"", "{", "{}"} {
		if err := os.WriteFile(newest, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := load(0); err == nil || !strings.Contains(err.Error(), "2/meta.json") {
			t.Errorf("%q: error %v", content, err)
		}
		if err := load(1); err != nil {
			t.Errorf("the version before: %v", err)
		}
	}
}

func TestUnfitFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if service, err := fileartifact.NewService(dir); err == nil || service != nil {
			t.Errorf("%s: no error", dir)
		}
	}
	if _, err := open(t, t.TempDir()).Save(t.Context(), request("\xff")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name that is no text: %v", err)
	}
}

// childDir tells the test program to write to that folder until it is killed.
const childDir = "RECAP_TEST_ARTIFACTS"

// TestKilledWriter: what a killed process has saved is there, and whatever is
// there is whole.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestWriteAsChild$")
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		var saved int64
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				if saved = n; n%5 == 0 {
					break
				}
			}
		}
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
		service := open(t, dir)
		versions, err := service.Versions(t.Context(), &artifact.VersionsRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f"})
		if err != nil || saved == 0 || versions.Versions[0] < saved || int64(len(versions.Versions)) != versions.Versions[0] {
			t.Fatalf("%v, %v after version %d", versions, err, saved)
		}
		for _, version := range versions.Versions {
			loaded, err := service.Load(t.Context(), &artifact.LoadRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: "f", Version: version})
			if err != nil || len(loaded.Part.Text) != 100_000 {
				t.Errorf("version %d: %v", version, err)
			}
		}
	}
}

// TestWriteAsChild is what a child process does.
func TestWriteAsChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs in the child processes of TestKilledWriter")
	}
	service := open(t, dir)
	req := request("f")
	req.Part = genai.NewPartFromText(strings.Repeat("x", 100_000))
	for {
		saved, err := service.Save(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(saved.Version)
	}
}
