package artifact

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/platform"
)

// InMemoryService returns a Service that keeps artifacts in this process and
// forgets them with it.
func InMemoryService() Service {
	return &inMemoryService{files: map[fileKey]map[int64]version{}}
}

// fileKey names a file. The files of a user have no session.
type fileKey struct{ app, user, session, name string }

type version struct {
	part    *genai.Part
	created time.Time
}

type inMemoryService struct {
	mu    sync.RWMutex
	files map[fileKey]map[int64]version
}

func keyOf(app, user, session, name string) fileKey {
	if strings.HasPrefix(name, UserPrefix) {
		session = ""
	}
	return fileKey{app, user, session, name}
}

func (s *inMemoryService) Save(ctx context.Context, req *SaveRequest) (*SaveResponse, error) {
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	key := keyOf(req.AppName, req.UserID, req.SessionID, req.FileName)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[key] == nil {
		s.files[key] = map[int64]version{}
	}
	n := req.Version
	if n == 0 {
		n = latest(s.files[key]) + 1
	}
	s.files[key][n] = version{clone.Of(req.Part), platform.Now(ctx)}
	return &SaveResponse{Version: n}, nil
}

func (s *inMemoryService) Load(ctx context.Context, req *LoadRequest) (*LoadResponse, error) {
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	_, found, err := s.find(keyOf(req.AppName, req.UserID, req.SessionID, req.FileName), req.Version)
	if err != nil {
		return nil, err
	}
	return &LoadResponse{Part: clone.Of(found.part)}, nil
}

func (s *inMemoryService) Delete(ctx context.Context, req *DeleteRequest) error {
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return err
	}
	key := keyOf(req.AppName, req.UserID, req.SessionID, req.FileName)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files[key], req.Version)
	if req.Version == 0 || len(s.files[key]) == 0 {
		delete(s.files, key)
	}
	return nil
}

func (s *inMemoryService) List(ctx context.Context, req *ListRequest) (*ListResponse, error) {
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := []string{}
	for key := range s.files {
		if key == keyOf(req.AppName, req.UserID, req.SessionID, key.name) {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return &ListResponse{FileNames: names}, nil
}

func (s *inMemoryService) Versions(ctx context.Context, req *VersionsRequest) (*VersionsResponse, error) {
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	key := keyOf(req.AppName, req.UserID, req.SessionID, req.FileName)
	s.mu.RLock()
	defer s.mu.RUnlock()
	versions := slices.Sorted(maps.Keys(s.files[key]))
	if len(versions) == 0 {
		return nil, fmt.Errorf("%q: %w", req.FileName, ErrNotFound)
	}
	slices.Reverse(versions)
	return &VersionsResponse{Versions: versions}, nil
}

func (s *inMemoryService) GetArtifactVersion(ctx context.Context, req *GetArtifactVersionRequest) (*GetArtifactVersionResponse, error) {
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	key := keyOf(req.AppName, req.UserID, req.SessionID, req.FileName)
	n, found, err := s.find(key, req.Version)
	if err != nil {
		return nil, err
	}
	mimeType := "text/plain"
	if found.part.InlineData != nil {
		mimeType = found.part.InlineData.MIMEType
	}
	return &GetArtifactVersionResponse{ArtifactVersion: &ArtifactVersion{
		Version: n, CanonicalURI: key.uri(n), CreateTime: found.created, MimeType: mimeType,
	}}, nil
}

// find returns a version of a file, the latest if n is 0, and its number.
func (s *inMemoryService) find(key fileKey, n int64) (int64, version, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	wanted := n
	if n == 0 {
		n = latest(s.files[key])
	}
	found, ok := s.files[key][n]
	if !ok {
		return 0, version{}, fmt.Errorf("%q, version %d: %w", key.name, wanted, ErrNotFound)
	}
	return n, found, nil
}

func latest(versions map[int64]version) (newest int64) {
	for n := range versions {
		newest = max(newest, n)
	}
	return newest
}

func (k fileKey) uri(n int64) string {
	return "memory:" + strings.Join([]string{
		url.PathEscape(k.app), url.PathEscape(k.user), url.PathEscape(k.session), url.PathEscape(k.name), fmt.Sprint(n),
	}, "/")
}
