package artifact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/artifact/artifacttest"
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

func TestInMemoryService(t *testing.T) {
	artifacttest.Run(t, func(*testing.T) artifact.Service { return artifact.InMemoryService() })
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
}

func second[T any](_ T, err error) error { return err }
