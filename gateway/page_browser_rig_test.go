package gateway

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// browserPatience bounds what a browser does for one test.
const browserPatience = 90 * time.Second

// chromium finds a browser: $CHROME, or what the system calls so. Without one the browser tests are passed over, unless
// FLOWGATE_BROWSER is required, as it is in .ci/run.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "NO BROWSER: approval pages are not tested in Chromium; install chromium, or set CHROME"
	if os.Getenv("FLOWGATE_BROWSER") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// browsed is a site of pages as a browser reaches it: its public URL is the socket's, below a prefix.
type browsed struct {
	*pageSite
	browser  context.Context // of a browser that is running
	base     string
	database string
}

// newBrowsed serves pages behind a proxy that takes a prefix off, and starts a browser.
func newBrowsed(t *testing.T) *browsed {
	t.Helper()
	path := chromium(t)
	base, to := behindProxy(t)
	database := pgtest.URL(t)
	s := pagesOn(t, database, func(c *engine.Config) { c.PublicURL = base }, func(c *Config) { c.PublicURL = base })
	to(s.addr)

	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(path),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(func() { closeBrowser(); stop() })
	b := &browsed{pageSite: s, browser: browser, base: base, database: database}
	if err := chromedp.Do(browser); err != nil { // it lives as long as this context
		t.Fatalf("start the browser: %v", err)
	}
	return b
}

// link is a person's link as it is given out.
func (b *browsed) link(run, person string) string {
	b.t.Helper()
	link := b.mints(run, person).text("url")
	if !strings.HasPrefix(link, b.base+"/approvals/fha_") {
		b.t.Fatalf("link %s", link)
	}
	return link
}

// tab opens a tab of its own.
func (b *browsed) tab() context.Context {
	b.t.Helper()
	tab, closeTab := chromedp.NewContext(b.browser)
	b.t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil {
		b.t.Fatalf("open a tab: %v", err)
	}
	ctx, cancel := context.WithTimeout(tab, browserPatience)
	b.t.Cleanup(cancel)
	return ctx
}

// does has a tab do things, one after the other.
func (b *browsed) does(tab context.Context, what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(tab, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// text is what a reader sees of a tab.
func (b *browsed) text(tab context.Context) string {
	b.t.Helper()
	text, err := chromedp.Run(tab, chromedp.Text("main"))
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

func (b *browsed) reads(tab context.Context, texts ...string) {
	b.t.Helper()
	got := b.text(tab)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			b.t.Errorf("%q is not to be read in %q", text, got)
		}
	}
}

// shot keeps a picture of a whole page, under $ARTEFACTS where that is set.
func (b *browsed) shot(tab context.Context, name string) {
	b.t.Helper()
	picture, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	dir := os.Getenv("ARTEFACTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)); err != nil {
		b.t.Fatal(err)
	}
	if len(picture) < 5000 {
		b.t.Errorf("%s has %d bytes", name, len(picture))
	}
}

// looks makes the tab one of a size, in the light or in the dark.
func looks(width, height int64, scheme string) chromedp.Action[chromedp.Void] {
	opts := []chromedp.EmulateViewportOption{chromedp.EmulateScale(2)}
	if width < 600 {
		opts = append(opts, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	return chromedp.Steps(chromedp.EmulateViewport(width, height, opts...), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// idle opens an address and waits until the network has been quiet for half a second, as the browser sees it.
func idle(address string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, page.SetLifecycleEventsEnabled, page.SetLifecycleEventsEnabledParams{Enabled: true})
		if err == nil {
			quiet := func(e page.EventLifecycleEvent) bool { return e.Name == "networkIdle" }
			_, err = chromedp.WaitEvent(page.LifecycleEvent, quiet, chromedp.Navigate(address))(ctx, t)
		}
		return chromedp.Void{}, err
	}
}

// behindProxy is the public URL of a proxy that takes a prefix off, and how it is told where to send what comes.
func behindProxy(t *testing.T) (public string, to func(addr string)) {
	t.Helper()
	var target atomic.Pointer[url.URL]
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/flow")
		r.SetURL(target.Load())
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + "/flow", func(addr string) { target.Store(&url.URL{Scheme: "http", Host: addr}) }
}
