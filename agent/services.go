package agent

import (
	"context"
	"errors"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/session"
)

// Errors of Artifacts and Memory in a run without the service.
var (
	ErrNoArtifactService = errors.New("agent: there is no artifact service: runner.Config.ArtifactService is nil")
	ErrNoMemoryService   = errors.New("agent: there is no memory service: runner.Config.MemoryService is nil")
)

// Artifacts are the files of a session. Without an artifact service all methods
// fail with ErrNoArtifactService.
type Artifacts interface {
	// Save stores a new version of a file.
	Save(ctx context.Context, name string, data *genai.Part) (*artifact.SaveResponse, error)
	// List returns the names of the files of the session and of its user.
	List(ctx context.Context) (*artifact.ListResponse, error)
	// Load returns the latest version of a file.
	Load(ctx context.Context, name string) (*artifact.LoadResponse, error)
	// LoadVersion returns a version of a file.
	LoadVersion(ctx context.Context, name string, version int) (*artifact.LoadResponse, error)
}

// Memory is what is remembered of a user's sessions. Without a memory service
// both methods fail with ErrNoMemoryService.
type Memory interface {
	// AddSessionToMemory remembers a session as it is now.
	AddSessionToMemory(ctx context.Context, s session.Session) error
	// SearchMemory returns what fits the query.
	SearchMemory(ctx context.Context, query string) (*memory.SearchResponse, error)
}

// artifacts are the Artifacts of one session.
type artifacts struct {
	service artifact.Service
	session session.Session
}

func (a artifacts) Save(ctx context.Context, name string, data *genai.Part) (*artifact.SaveResponse, error) {
	if a.service == nil {
		return nil, ErrNoArtifactService
	}
	return a.service.Save(ctx, &artifact.SaveRequest{
		AppName: a.session.AppName(), UserID: a.session.UserID(), SessionID: a.session.ID(), FileName: name, Part: data,
	})
}

func (a artifacts) List(ctx context.Context) (*artifact.ListResponse, error) {
	if a.service == nil {
		return nil, ErrNoArtifactService
	}
	return a.service.List(ctx, &artifact.ListRequest{
		AppName: a.session.AppName(), UserID: a.session.UserID(), SessionID: a.session.ID(),
	})
}

func (a artifacts) Load(ctx context.Context, name string) (*artifact.LoadResponse, error) {
	return a.LoadVersion(ctx, name, 0)
}

func (a artifacts) LoadVersion(ctx context.Context, name string, version int) (*artifact.LoadResponse, error) {
	if a.service == nil {
		return nil, ErrNoArtifactService
	}
	return a.service.Load(ctx, &artifact.LoadRequest{
		AppName: a.session.AppName(), UserID: a.session.UserID(), SessionID: a.session.ID(), FileName: name, Version: int64(version),
	})
}

// trackedArtifacts note in actions what is saved.
type trackedArtifacts struct {
	Artifacts
	effects *effects
}

func (a trackedArtifacts) Save(ctx context.Context, name string, data *genai.Part) (*artifact.SaveResponse, error) {
	saved, err := a.Artifacts.Save(ctx, name, data)
	if err != nil {
		return nil, err
	}
	a.effects.mu.Lock()
	defer a.effects.mu.Unlock()
	if a.effects.actions.ArtifactDelta == nil {
		a.effects.actions.ArtifactDelta = map[string]int64{}
	}
	// Of several saves at once the latest version counts.
	a.effects.actions.ArtifactDelta[name] = max(a.effects.actions.ArtifactDelta[name], saved.Version)
	return saved, nil
}

// memories is the Memory of one user.
type memories struct {
	service memory.Service
	session session.Session
}

func (m memories) AddSessionToMemory(ctx context.Context, s session.Session) error {
	if m.service == nil {
		return ErrNoMemoryService
	}
	return m.service.AddSessionToMemory(ctx, s)
}

func (m memories) SearchMemory(ctx context.Context, query string) (*memory.SearchResponse, error) {
	if m.service == nil {
		return nil, ErrNoMemoryService
	}
	return m.service.SearchMemory(ctx, &memory.SearchRequest{
		AppName: m.session.AppName(), UserID: m.session.UserID(), Query: query,
	})
}
