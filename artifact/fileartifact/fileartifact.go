// Package fileartifact keeps artifacts as files in a folder.
//
//	artifacts, err := fileartifact.NewService("/var/lib/app/artifacts")
//	if err != nil {
//		return err
//	}
//	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: sessions, ArtifactService: artifacts})
//
// In the folder each name is a folder that is called by the start of the name
// and a hash of the whole, so that any name is safe on any file system. An
// artifact of user ada in session s1 of app is, at its second version,
//
//	app-…/ada-…/sessions/s1-…/report.pdf-…/2/data       the bytes
//	app-…/ada-…/sessions/s1-…/report.pdf-…/2/meta.json  name, type, time
//
// and one of all of ada's sessions, whose name begins with "user:", stands
// under app-…/ada-…/user.
//
// A version is written aside, in .tmp, and put in place by one rename: whoever
// reads sees all of it or nothing, also after a crash, and of two writers, in
// one process or two, each gets a version of its own. While a version that
// exists is replaced, it is not there for a moment. What a killed process left
// in .tmp may be deleted. Links that lead out of the folder are not
// followed.
package fileartifact

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/platform"
)

type service struct {
	root *os.Root
	dir  string // of root, absolute
}

// NewService returns a service that keeps artifacts in dir, which is created if
// it does not exist, for the user of the process alone. Any number of services
// and processes may use one folder at once.
func NewService(dir string) (artifact.Service, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("fileartifact: %w", err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("fileartifact: %w", err)
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, fmt.Errorf("fileartifact: %w", err)
	}
	return &service{root, absolute}, nil
}

// meta is what meta.json says of a version.
type meta struct {
	Name string `json:"name"`
	// Part is the part without its bytes.
	Part       *genai.Part `json:"part"`
	CreateTime time.Time   `json:"createTime"`
}

const (
	tmpDir   = ".tmp"
	dataFile = "data"
	metaFile = "meta.json"
)

func (s *service) Save(ctx context.Context, req *artifact.SaveRequest) (*artifact.SaveResponse, error) {
	if err := begin(ctx, req); err != nil {
		return nil, err
	}
	if !utf8.ValidString(req.FileName) {
		return nil, fmt.Errorf("fileartifact: saving %q: the name is not UTF-8", req.FileName)
	}
	prepared := path.Join(tmpDir, platform.NewUUID(ctx))
	defer s.root.RemoveAll(prepared) // it is not there any more, or of no use
	if err := s.prepare(ctx, prepared, req); err != nil {
		return nil, fmt.Errorf("fileartifact: saving %q: %w", req.FileName, err)
	}
	dir := artifactDir(req.AppName, req.UserID, req.SessionID, req.FileName)
	version, err := req.Version, error(nil)
	if version == 0 {
		version, err = s.place(ctx, prepared, dir)
	} else {
		err = s.replace(ctx, prepared, dir, version)
	}
	if err != nil {
		return nil, fmt.Errorf("fileartifact: saving %q: %w", req.FileName, err)
	}
	return &artifact.SaveResponse{Version: version}, nil
}

// prepare writes the files of a version to dir.
func (s *service) prepare(ctx context.Context, dir string, req *artifact.SaveRequest) error {
	part := *req.Part
	data := []byte(part.Text)
	if part.InlineData != nil {
		blob := *part.InlineData
		data, blob.Data = blob.Data, nil
		part.InlineData = &blob
	} else {
		part.Text = ""
	}
	described, err := json.MarshalIndent(meta{Name: req.FileName, Part: &part, CreateTime: platform.Now(ctx)}, "", "\t")
	if err != nil {
		return err
	}
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := s.write(path.Join(dir, dataFile), data); err != nil {
		return err
	}
	if err := s.write(path.Join(dir, metaFile), described); err != nil {
		return err
	}
	return s.sync(dir)
}

func (s *service) write(name string, data []byte) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// sync makes what happened in dir last. Where a system cannot do that for
// folders, it does so without.
func (s *service) sync(dir string) error {
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync()
	return f.Close()
}

// place makes what is prepared the next version in dir. Another writer may be
// faster: then that version is there, and the one after it is next.
func (s *service) place(ctx context.Context, prepared, dir string) (int64, error) {
	for ctx.Err() == nil {
		if err := s.root.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
		versions, err := s.versions(dir)
		if err != nil {
			return 0, err
		}
		next := int64(1)
		if len(versions) > 0 {
			next = versions[0] + 1
		}
		target := path.Join(dir, strconv.FormatInt(next, 10))
		err = s.root.Rename(prepared, target)
		if err == nil {
			return next, s.sync(dir)
		}
		if !s.meanwhile(dir, target) {
			return 0, err
		}
	}
	return 0, ctx.Err()
}

// replace makes what is prepared a version in dir, instead of the one that may
// be there.
func (s *service) replace(ctx context.Context, prepared, dir string, version int64) error {
	target := path.Join(dir, strconv.FormatInt(version, 10))
	for ctx.Err() == nil {
		if err := s.delete(ctx, target); err != nil {
			return err
		}
		if err := s.root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		err := s.root.Rename(prepared, target)
		if err == nil {
			return s.sync(dir)
		}
		if !s.meanwhile(dir, target) {
			return err
		}
	}
	return ctx.Err()
}

// meanwhile reports whether another writer can be why target could not be put
// into dir: it has put one there, or has deleted dir.
func (s *service) meanwhile(dir, target string) bool {
	_, noTarget := s.root.Stat(target)
	_, noDir := s.root.Stat(dir)
	return noTarget == nil || noDir != nil
}

func (s *service) Load(ctx context.Context, req *artifact.LoadRequest) (*artifact.LoadResponse, error) {
	if err := begin(ctx, req); err != nil {
		return nil, err
	}
	dir := artifactDir(req.AppName, req.UserID, req.SessionID, req.FileName)
	var data []byte
	_, m, err := s.read(dir, req.Version, func(version string) (err error) {
		data, err = s.root.ReadFile(path.Join(version, dataFile))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fileartifact: loading %q: %w", req.FileName, err)
	}
	if m.Part.InlineData != nil {
		m.Part.InlineData.Data = data
	} else {
		m.Part.Text = string(data)
	}
	return &artifact.LoadResponse{Part: m.Part}, nil
}

func (s *service) GetArtifactVersion(ctx context.Context, req *artifact.GetArtifactVersionRequest) (*artifact.GetArtifactVersionResponse, error) {
	if err := begin(ctx, req); err != nil {
		return nil, err
	}
	dir := artifactDir(req.AppName, req.UserID, req.SessionID, req.FileName)
	version, m, err := s.read(dir, req.Version, func(string) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("fileartifact: reading of %q: %w", req.FileName, err)
	}
	file := filepath.ToSlash(filepath.Join(s.dir, filepath.FromSlash(dir), strconv.FormatInt(version, 10), dataFile))
	found := &artifact.ArtifactVersion{
		Version:      version,
		CanonicalURI: (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(file, "/")}).String(),
		CreateTime:   m.CreateTime,
		MimeType:     "text/plain",
	}
	if m.Part.InlineData != nil {
		found.MimeType = m.Part.InlineData.MIMEType
	}
	return &artifact.GetArtifactVersionResponse{ArtifactVersion: found}, nil
}

// read reads a version, or if that is 0 the newest. One that is deleted
// meanwhile is not there.
func (s *service) read(dir string, version int64, also func(version string) error) (int64, *meta, error) {
	candidates := []int64{version}
	if version == 0 {
		var err error
		if candidates, err = s.versions(dir); err != nil {
			return 0, nil, err
		}
	}
	for _, candidate := range candidates {
		from := path.Join(dir, strconv.FormatInt(candidate, 10))
		m, err := s.meta(from)
		if err == nil {
			err = also(from)
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return candidate, m, err
		}
	}
	return 0, nil, artifact.ErrNotFound
}

func (s *service) meta(version string) (*meta, error) {
	encoded, err := s.root.ReadFile(path.Join(version, metaFile))
	if err != nil {
		return nil, err
	}
	m := new(meta)
	if err := json.Unmarshal(encoded, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(version, metaFile), err)
	}
	if m.Part == nil {
		return nil, fmt.Errorf("%s: no part", path.Join(version, metaFile))
	}
	return m, nil
}

func (s *service) Delete(ctx context.Context, req *artifact.DeleteRequest) error {
	if err := begin(ctx, req); err != nil {
		return err
	}
	what := artifactDir(req.AppName, req.UserID, req.SessionID, req.FileName)
	if req.Version != 0 {
		what = path.Join(what, strconv.FormatInt(req.Version, 10))
	}
	if err := s.delete(ctx, what); err != nil {
		return fmt.Errorf("fileartifact: deleting %q: %w", req.FileName, err)
	}
	return nil
}

// delete removes a folder, at once for whoever reads. None is fine.
func (s *service) delete(ctx context.Context, dir string) error {
	if err := s.root.MkdirAll(tmpDir, 0o700); err != nil {
		return err
	}
	aside := path.Join(tmpDir, platform.NewUUID(ctx))
	if err := s.root.Rename(dir, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return s.root.RemoveAll(aside)
}

func (s *service) List(ctx context.Context, req *artifact.ListRequest) (*artifact.ListResponse, error) {
	if err := begin(ctx, req); err != nil {
		return nil, err
	}
	names := []string{}
	for _, scope := range []string{sessionDir(req.AppName, req.UserID, req.SessionID), userDir(req.AppName, req.UserID)} {
		folders, err := s.entries(scope)
		if err != nil {
			return nil, fmt.Errorf("fileartifact: listing: %w", err)
		}
		for _, folder := range folders {
			_, m, err := s.read(path.Join(scope, folder), 0, func(string) error { return nil })
			if errors.Is(err, fs.ErrNotExist) {
				continue // all its versions are deleted
			}
			if err != nil {
				return nil, fmt.Errorf("fileartifact: listing: %w", err)
			}
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return &artifact.ListResponse{FileNames: names}, nil
}

func (s *service) Versions(ctx context.Context, req *artifact.VersionsRequest) (*artifact.VersionsResponse, error) {
	if err := begin(ctx, req); err != nil {
		return nil, err
	}
	versions, err := s.versions(artifactDir(req.AppName, req.UserID, req.SessionID, req.FileName))
	if err == nil && len(versions) == 0 {
		err = artifact.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("fileartifact: versions of %q: %w", req.FileName, err)
	}
	return &artifact.VersionsResponse{Versions: versions}, nil
}

// versions are those in an artifact's folder, newest first.
func (s *service) versions(dir string) ([]int64, error) {
	names, err := s.entries(dir)
	if err != nil {
		return nil, err
	}
	var versions []int64
	for _, name := range names {
		if version, err := strconv.ParseInt(name, 10, 64); err == nil && version > 0 {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	slices.Reverse(versions)
	return versions, nil
}

// entries are the names in a folder; none if it does not exist.
func (s *service) entries(dir string) ([]string, error) {
	f, err := s.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was deleted meanwhile
	}
	return names, err
}

// begin refuses what cannot be done.
func begin(ctx context.Context, req interface{ Validate() error }) error {
	if err := req.Validate(); err != nil {
		return fmt.Errorf("fileartifact: %w", err)
	}
	return ctx.Err()
}

func sessionDir(app, user, session string) string {
	return path.Join(folder(app), folder(user), "sessions", folder(session))
}

func userDir(app, user string) string { return path.Join(folder(app), folder(user), "user") }

func artifactDir(app, user, session, name string) string {
	if strings.HasPrefix(name, artifact.UserPrefix) {
		return path.Join(userDir(app, user), folder(name))
	}
	return path.Join(sessionDir(app, user, session), folder(name))
}

var unsafe = regexp.MustCompile(`[^a-zA-Z0-9_.]+`)

// folder is the folder for a name. The start is for people, the hash is what
// tells names apart, also where the file system does not heed case.
func folder(name string) string {
	readable := strings.Trim(unsafe.ReplaceAllString(name, "_"), ".")
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s-%x", readable[:min(len(readable), 40)], sum[:16])
}
