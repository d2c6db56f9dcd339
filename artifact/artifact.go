// Package artifact keeps files that belong to a conversation: what a user
// uploads, what a tool makes.
//
//	service := artifact.InMemoryService()
//	r, err := runner.New(runner.Config{ArtifactService: service, ...})
//
// Tools and callbacks save and load through their context, which knows the
// session:
//
//	saved, err := ctx.Artifacts().Save(ctx, "plan.txt", genai.NewPartFromText("..."))
//
// A file is never changed: saving under a name that exists makes a new version.
// The first is 1, and 0 asks for the latest. Which versions an event saved is in
// its EventActions.ArtifactDelta.
//
// A file belongs to one session. One whose name begins with "user:" belongs to
// all sessions of the user.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"google.golang.org/genai"
)

// ErrNotFound says that there is no such file, or not in that version. It also
// matches fs.ErrNotExist.
var ErrNotFound = fmt.Errorf("artifact not found: %w", fs.ErrNotExist)

// UserPrefix begins the names of the files that all sessions of a user share.
const UserPrefix = "user:"

// Service stores artifacts. All methods are safe for concurrent use, and fail
// on a request that its Validate refuses. What goes in and out are copies.
type Service interface {
	// Save stores a new version of a file. Of several at once each gets a
	// version of its own.
	Save(ctx context.Context, req *SaveRequest) (*SaveResponse, error)
	// Load returns a version of a file, or ErrNotFound.
	Load(ctx context.Context, req *LoadRequest) (*LoadResponse, error)
	// Delete removes a version of a file, or all versions if Version is 0. That
	// there is nothing to remove is no error.
	Delete(ctx context.Context, req *DeleteRequest) error
	// List returns the names of the files of a session and of its user, in
	// order of their names.
	List(ctx context.Context, req *ListRequest) (*ListResponse, error)
	// Versions returns the versions of a file, the latest first, or
	// ErrNotFound.
	Versions(ctx context.Context, req *VersionsRequest) (*VersionsResponse, error)
	// GetArtifactVersion returns what is known of a version, or ErrNotFound.
	GetArtifactVersion(ctx context.Context, req *GetArtifactVersionRequest) (*GetArtifactVersionResponse, error)
}

// SaveRequest asks to store a file.
type SaveRequest struct {
	AppName, UserID, SessionID, FileName string
	// Part holds the file: text or inline data.
	Part *genai.Part
	// Version, if positive, is the version to write; an existing one is
	// replaced. 0 makes a new one.
	Version int64
}

// SaveResponse holds the version that was stored.
type SaveResponse struct {
	Version int64
}

// LoadRequest asks for a file. Version 0 is the latest.
type LoadRequest struct {
	AppName, UserID, SessionID, FileName string
	Version                              int64
}

// LoadResponse holds the file.
type LoadResponse struct {
	Part *genai.Part
}

// DeleteRequest names what to remove. Version 0 is all versions.
type DeleteRequest struct {
	AppName, UserID, SessionID, FileName string
	Version                              int64
}

// ListRequest asks for the names of files.
type ListRequest struct {
	AppName, UserID, SessionID string
}

// ListResponse holds the names of files.
type ListResponse struct {
	FileNames []string
}

// VersionsRequest asks for the versions of a file.
type VersionsRequest struct {
	AppName, UserID, SessionID, FileName string
}

// VersionsResponse holds the versions of a file, the latest first.
type VersionsResponse struct {
	Versions []int64
}

// GetArtifactVersionRequest asks what is known of a version. 0 is the latest.
type GetArtifactVersionRequest struct {
	AppName, UserID, SessionID, FileName string
	Version                              int64
}

// GetArtifactVersionResponse holds what is known of a version.
type GetArtifactVersionResponse struct {
	ArtifactVersion *ArtifactVersion
}

// ArtifactVersion is what is known of a version of a file.
type ArtifactVersion struct {
	Version int64
	// CanonicalURI says where the service keeps it.
	CanonicalURI   string
	CustomMetadata map[string]any
	CreateTime     time.Time
	// MimeType is that of the data, "text/plain" for text.
	MimeType string
}

// Validate reports what is missing or wrong.
func (req *SaveRequest) Validate() error {
	if err := validate("save", req.AppName, req.UserID, req.SessionID, &req.FileName, req.Version); err != nil {
		return err
	}
	if req.Part == nil || req.Part.Text == "" && req.Part.InlineData == nil {
		return errors.New("artifact: save: Part has neither text nor inline data")
	}
	return nil
}

// Validate reports what is missing or wrong.
func (req *LoadRequest) Validate() error {
	return validate("load", req.AppName, req.UserID, req.SessionID, &req.FileName, req.Version)
}

// Validate reports what is missing or wrong.
func (req *DeleteRequest) Validate() error {
	return validate("delete", req.AppName, req.UserID, req.SessionID, &req.FileName, req.Version)
}

// Validate reports what is missing.
func (req *ListRequest) Validate() error {
	return validate("list", req.AppName, req.UserID, req.SessionID, nil, 0)
}

// Validate reports what is missing or wrong.
func (req *VersionsRequest) Validate() error {
	return validate("versions", req.AppName, req.UserID, req.SessionID, &req.FileName, 0)
}

// Validate reports what is missing or wrong.
func (req *GetArtifactVersionRequest) Validate() error {
	return validate("version", req.AppName, req.UserID, req.SessionID, &req.FileName, req.Version)
}

func validate(what, app, user, session string, file *string, version int64) error {
	switch {
	case app == "" || user == "" || session == "":
		return fmt.Errorf("artifact: %s: AppName, UserID and SessionID must be set (got %q, %q and %q)", what, app, user, session)
	case file != nil && *file == "":
		return fmt.Errorf("artifact: %s: FileName must be set", what)
	case file != nil && (strings.ContainsAny(*file, `/\`) || *file == "." || *file == ".."):
		return fmt.Errorf("artifact: %s: the file name %q is a path", what, *file)
	case version < 0:
		return fmt.Errorf("artifact: %s: Version is negative (%d)", what, version)
	}
	return nil
}
