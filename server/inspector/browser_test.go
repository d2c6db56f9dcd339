package inspector_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/recap-adk/recap/server/inspector"
)

var pictures = flag.String("pictures", "", "`folder` for pictures of every page, in light and dark, for a phone and a screen")

// browser starts a headless browser for the test, which is skipped where there
// is none: RECAP_BROWSER names one, or it is found in PATH.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("RECAP_BROWSER")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("there is no browser: install chromium or name one in RECAP_BROWSER")
	}
	// Processes of the browser may write into it for a moment after its end, so
	// that t.TempDir would fail the test.
	profile, err := os.MkdirTemp("", "inspector-*")
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(time.Minute),
	}
	for _, name := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
		"disable-background-networking", "disable-component-update", "disable-sync",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the browser did not end: %v", err)
		}
		closeTab()
		stop()
		_ = chromedp.WaitClosed(ctx)
		for range 100 {
			if os.RemoveAll(profile) == nil {
				break
			}
		}
	})
	do(t, ctx)
	return ctx
}

type void = chromedp.Action[chromedp.Void]

func do(t *testing.T, ctx context.Context, steps ...void) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// evaluate is the value of an expression on the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// command is a step that the package has no function for.
func command[P, R any](cmd cdp.Command[P, R], params P) void {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cmd, params)
		return err
	})
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// shots are the pages that are looked at.
var shots = []struct {
	name, target string
	unfolded     bool
}{
	{"sessions", "/", false},
	{"log", "/session" + kitchenKey, false},
	{"log-unfolded", "/session" + kitchenKey, true},
	{"prompt", "/prompt" + kitchenKey, false},
	{"tools", "/session?app=shop&user=u1&id=tools", false},
	{"tools-unfolded", "/session?app=shop&user=u1&id=tools", true},
	{"prompt-tools", "/prompt?app=shop&user=u1&id=tools&agent=clerk", true},
	{"chart", "/chart" + kitchenKey, true},
	{"error", "/session?app=shop&user=u1&id=none", false},
}

// view has the browser show a page as a device would.
func view(width int64, scheme, target string) void {
	return chromedp.Steps(
		chromedp.EmulateViewport(width, 900),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}),
		chromedp.Navigate(target),
	)
}

func unfold(t *testing.T, ctx context.Context) {
	t.Helper()
	evaluate[bool](t, ctx, `document.querySelectorAll("details").forEach(d => { d.open = true }), true`)
}

// onEachDevice shows every page on every device and in every theme.
func onEachDevice(t *testing.T, ctx context.Context, check func(name string, width int64)) {
	t.Helper()
	base := serve(t, open(t, inspector.Config{SessionService: withTools(t, kitchen(t))}))
	for _, shot := range shots {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 1440} {
				do(t, ctx, view(width, scheme, base+shot.target))
				if shot.unfolded {
					unfold(t, ctx)
				}
				check(fmt.Sprintf("%s-%s-%d", shot.name, scheme, width), width)
			}
		}
	}
}

// TestPictures: no page is wider than the device.
func TestPictures(t *testing.T) {
	ctx := browser(t)
	onEachDevice(t, ctx, func(name string, width int64) {
		if wide := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("%s is %d wide", name, wide)
		}
		if *pictures == "" {
			return
		}
		beyond := true
		image, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: float64(width), Height: 1800, Scale: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*pictures, name+".png"), image.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAccessible has axe look at every page. RECAP_AXE names axe.min.js of the
// npm package axe-core.
func TestAccessible(t *testing.T) {
	path := os.Getenv("RECAP_AXE")
	if path == "" {
		t.Skip("RECAP_AXE does not name axe.min.js of the npm package axe-core")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	onEachDevice(t, ctx, func(name string, _ int64) {
		do(t, ctx, chromedp.Evaluate[chromedp.Void](string(axe)))
		for _, found := range evaluate[[]string](t, ctx, `axe.run().then(r => r.violations.map(v =>
			v.id + " (" + v.impact + "): " + v.nodes.slice(0, 2).map(n => n.html + " " + n.failureSummary).join("; ")))`) {
			t.Errorf("%s: %s", name, found)
		}
	})
}

// TestBrowserRunsNothing: not even when everything is unfolded does stored text
// do anything.
func TestBrowserRunsNothing(t *testing.T) {
	ctx := browser(t)
	base := serve(t, open(t, inspector.Config{SessionService: hostile(t), AppNames: []string{evil}}))
	key := "?" + url.Values{"app": {evil}, "user": {evil}, "id": {evil}}.Encode()
	for _, name := range []string{"/" + key, "/session" + key, "/prompt" + key, "/chart" + key} {
		do(t, ctx, view(1440, "light", base+name))
		unfold(t, ctx)
		elements := evaluate[int](t, ctx, `document.querySelectorAll("script, img, iframe, [style], [onerror], [onclick]").length`)
		title, text := evaluate[string](t, ctx, `document.title`), evaluate[string](t, ctx, `document.body.innerText`)
		if title == "owned" || elements != 0 || !strings.Contains(text, "<script>document.title") {
			t.Errorf("%s: title %q, %d elements", name, title, elements)
		}
	}
}

// TestKeyboard: the first thing that is reached skips to the content, and a
// summary unfolds.
func TestKeyboard(t *testing.T) {
	ctx := browser(t)
	base := serve(t, open(t, inspector.Config{SessionService: kitchen(t)}))
	do(t, ctx, view(1440, "light", base+"/session"+kitchenKey), chromedp.KeyEvent("\t"))
	if class := evaluate[string](t, ctx, `document.activeElement.className`); class != "skip" {
		t.Errorf("the first thing that is reached is %q", class)
	}
	if outline := evaluate[string](t, ctx, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
		t.Errorf("the focus is outlined %q", outline)
	}
	const isOpen = `document.querySelector("details.originals").open`
	before := evaluate[bool](t, ctx, isOpen)
	do(t, ctx, chromedp.Focus(chromedp.CSS("details.originals > summary")), chromedp.KeyEvent("\r"))
	if after := evaluate[bool](t, ctx, isOpen); before || !after {
		t.Errorf("unfolded is %v, then %v", before, after)
	}
}

// TestWithoutScript: links lead from the sessions to the originals of a summary.
func TestWithoutScript(t *testing.T) {
	ctx := browser(t)
	base := serve(t, open(t, inspector.Config{SessionService: kitchen(t)}))
	do(t, ctx,
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}),
		chromedp.Navigate(base+"/"))
	for _, link := range []chromedp.CSS{"tbody a", "article.bracket > p:last-child a"} {
		if _, err := chromedp.RunResponse(ctx, chromedp.Click(link)); err != nil {
			t.Fatal(err)
		}
	}
	note, err := chromedp.Run(ctx, chromedp.TextContent(chromedp.CSS("main .note")))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^The originals that a summary stands in for: [1-9]\d* of them`).MatchString(note) {
		t.Errorf("the page says %q", note)
	}
}
