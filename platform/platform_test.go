package platform_test

import (
	"context"
	"fmt"
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
