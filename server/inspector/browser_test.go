package inspector_test

import (
	"context"
	"encoding/json"
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

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
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
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute),
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
		chromedp.FromContext(ctx).Allocator.Wait()
	})
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// awaited has the browser wait for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// shots are the pages that are looked at.
var shots = []struct{ name, target string }{
	{"sessions", "/"},
	{"log", "/session" + kitchenKey},
	{"log-unfolded", "/session" + kitchenKey},
	{"prompt", "/prompt" + kitchenKey},
	{"tools", "/session?app=shop&user=u1&id=tools"},
	{"chart", "/chart" + kitchenKey},
	{"error", "/session?app=shop&user=u1&id=none"},
}

// view has the browser show a page as a device would.
func view(width int64, scheme, target string) chromedp.Tasks {
	return chromedp.Tasks{
		chromedp.EmulateViewport(width, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(target),
	}
}

func unfold(name string) chromedp.Action {
	if !strings.HasSuffix(name, "-unfolded") && name != "chart" {
		return chromedp.Tasks{}
	}
	return chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => { d.open = true })`, nil)
}

// TestPictures: no page is wider than the device, whatever the theme.
func TestPictures(t *testing.T) {
	ctx := browser(t)
	base := serve(t, open(t, inspector.Config{SessionService: withTools(t, kitchen(t))}))
	for _, shot := range shots {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 1440} {
				var wide int64
				var image []byte
				tasks := chromedp.Tasks{
					view(width, scheme, base+shot.target), unfold(shot.name),
					chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide),
				}
				if *pictures != "" {
					tasks = append(tasks, chromedp.ActionFunc(func(ctx context.Context) (err error) {
						image, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
							WithClip(&page.Viewport{Width: float64(width), Height: 1900, Scale: 1}).Do(ctx)
						return err
					}))
				}
				if err := chromedp.Run(ctx, tasks); err != nil {
					t.Fatal(err)
				}
				if wide > width {
					t.Errorf("%s at %d pixels, %s, is %d wide", shot.name, width, scheme, wide)
				}
				if image == nil {
					continue
				}
				name := fmt.Sprintf("%s-%s-%d.png", shot.name, scheme, width)
				if err := os.WriteFile(filepath.Join(*pictures, name), image, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestAccessible runs axe on every page: RECAP_AXE names the file axe.min.js.
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
	base := serve(t, open(t, inspector.Config{SessionService: withTools(t, kitchen(t))}))
	for _, shot := range shots {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 1440} {
				var found string
				err := chromedp.Run(ctx, view(width, scheme, base+shot.target), unfold(shot.name),
					chromedp.Evaluate(string(axe), nil),
					chromedp.Evaluate(`axe.run().then(r => JSON.stringify(r.violations.map(v => ({id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary)}))))`,
						&found, awaited))
				if err != nil {
					t.Fatal(err)
				}
				var violations []struct {
					ID, Impact string
					Nodes      []string
				}
				if err := json.Unmarshal([]byte(found), &violations); err != nil {
					t.Fatal(err)
				}
				for _, v := range violations {
					t.Errorf("%s at %d pixels, %s: %s (%s): %s", shot.name, width, scheme, v.ID, v.Impact, strings.Join(v.Nodes, "\n"))
				}
			}
		}
	}
}

// TestBrowserRunsNothing: not even when everything is unfolded does stored text
// do anything.
func TestBrowserRunsNothing(t *testing.T) {
	ctx := browser(t)
	base := serve(t, open(t, inspector.Config{SessionService: hostile(t), AppNames: []string{evil}}))
	key := "?" + url.Values{"app": {evil}, "user": {evil}, "id": {evil}}.Encode()
	for _, name := range []string{"/" + key, "/session" + key, "/prompt" + key, "/chart" + key} {
		var title, text string
		var elements int
		err := chromedp.Run(ctx, view(1440, "light", base+name), unfold("-unfolded"),
			chromedp.Evaluate(`document.querySelectorAll("script, img, iframe, [style], [onerror], [onclick]").length`, &elements),
			chromedp.Evaluate(`document.body.innerText`, &text),
			chromedp.Title(&title))
		if err != nil {
			t.Fatal(err)
		}
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
	var focused, outline string
	var closed, opened bool
	err := chromedp.Run(ctx, view(1440, "light", base+"/session"+kitchenKey),
		chromedp.KeyEvent("\t"),
		chromedp.Evaluate(`document.activeElement.className`, &focused),
		chromedp.Evaluate(`getComputedStyle(document.activeElement).outlineStyle`, &outline),
		chromedp.Evaluate(`document.querySelector("details.originals").open`, &closed),
		chromedp.Focus("details.originals > summary", chromedp.ByQuery),
		chromedp.KeyEvent("\r"),
		chromedp.Evaluate(`document.querySelector("details.originals").open`, &opened),
	)
	if err != nil {
		t.Fatal(err)
	}
	if focused != "skip" || outline != "solid" || closed || !opened {
		t.Errorf("focus is on %q with outline %q; unfolded %v, then %v", focused, outline, closed, opened)
	}
}

// TestWithoutScript: a visitor goes from the sessions to an original by links.
func TestWithoutScript(t *testing.T) {
	ctx := browser(t)
	base := serve(t, open(t, inspector.Config{SessionService: kitchen(t)}))
	var heading string
	err := chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true),
		chromedp.Navigate(base+"/"),
		chromedp.Click(`tbody a`, chromedp.ByQuery), chromedp.WaitVisible(`section.bracket`, chromedp.ByQuery),
		chromedp.Click(`section.bracket > p:last-child a`, chromedp.ByQuery), chromedp.WaitVisible(`.is-covered`, chromedp.ByQuery),
		chromedp.Text(`main .note`, &heading, chromedp.ByQuery))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^The originals that a summary stands in for: \d+ of them`).MatchString(heading) {
		t.Errorf("the page says %q", heading)
	}
}
