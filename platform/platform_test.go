package platform_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recap-adk/recap/platform"
)

func Example() {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ctx := platform.WithTimeProvider(context.Background(), func() time.Time { return noon })
	ctx = platform.WithUUIDProvider(ctx, func() string { return "id-1" })

	fmt.Println(platform.Now(ctx).Format(time.Kitchen), platform.NewUUID(ctx))
	// Output: 12:00PM id-1
}

func TestWithoutProviders(t *testing.T) {
	ctx := context.Background()
	if a, b := platform.NewUUID(ctx), platform.NewUUID(ctx); a == b {
		t.Errorf("two UUIDs are equal: %s", a)
	}
	if platform.Now(ctx).IsZero() {
		t.Error("Now is zero")
	}
	ctx = platform.WithTimeProvider(ctx, nil)
	if platform.Now(ctx).IsZero() {
		t.Error("Now with a nil provider is zero")
	}
}

func TestRunTasks(t *testing.T) {
	inOrder := func(ctx context.Context, tasks []func(context.Context)) {
		for _, task := range tasks {
			task(ctx)
		}
	}
	tests := []struct {
		name string
		ctx  context.Context
		want []string
	}{
		{"of the context", platform.WithTaskRunner(t.Context(), inOrder), []string{"a", "b", "c"}},
		{"none", t.Context(), nil},
		{"nil", platform.WithTaskRunner(t.Context(), nil), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			var ran []string
			var tasks []func(context.Context)
			for _, name := range []string{"a", "b", "c"} {
				tasks = append(tasks, func(context.Context) {
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, name)
				})
			}
			platform.RunTasks(test.ctx, tasks)
			if test.want == nil { // at the same time, so in any order
				slices.Sort(ran)
				test.want = []string{"a", "b", "c"}
			}
			if !slices.Equal(ran, test.want) {
				t.Errorf("ran %v, want %v", ran, test.want)
			}
		})
	}
}
