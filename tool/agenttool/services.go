package agenttool

import (
	"context"
	"errors"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/session"
)

// callersArtifacts are the artifacts of the caller's session, whatever session
// is asked for: the agent's own is gone after the call. What is saved is in the
// caller's actions.
type callersArtifacts struct{ artifacts agent.Artifacts }

func (c callersArtifacts) Save(ctx context.Context, req *artifact.SaveRequest) (*artifact.SaveResponse, error) {
	return c.artifacts.Save(ctx, req.FileName, req.Part)
}

func (c callersArtifacts) Load(ctx context.Context, req *artifact.LoadRequest) (*artifact.LoadResponse, error) {
	return c.artifacts.LoadVersion(ctx, req.FileName, int(req.Version))
}

func (c callersArtifacts) List(ctx context.Context, _ *artifact.ListRequest) (*artifact.ListResponse, error) {
	return c.artifacts.List(ctx)
}

// The rest is out of reach for contexts, the caller's and the agent's alike.

func (c callersArtifacts) Delete(context.Context, *artifact.DeleteRequest) error {
	return errors.ErrUnsupported
}

func (c callersArtifacts) Versions(context.Context, *artifact.VersionsRequest) (*artifact.VersionsResponse, error) {
	return nil, errors.ErrUnsupported
}

func (c callersArtifacts) GetArtifactVersion(context.Context, *artifact.GetArtifactVersionRequest) (*artifact.GetArtifactVersionResponse, error) {
	return nil, errors.ErrUnsupported
}

// callersMemory is what is remembered of the caller's user.
type callersMemory struct{ memory agent.Memory }

func (c callersMemory) AddSessionToMemory(ctx context.Context, s session.Session) error {
	return c.memory.AddSessionToMemory(ctx, s)
}

func (c callersMemory) SearchMemory(ctx context.Context, req *memory.SearchRequest) (*memory.SearchResponse, error) {
	return c.memory.SearchMemory(ctx, req.Query)
}
