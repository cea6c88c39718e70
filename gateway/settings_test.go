package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// The values below are promises to operators; what they do to requests is tested where it shows.
func TestSettings_values(t *testing.T) {
	t.Parallel()
	g := newSite(t).gw
	c, server := g.fiber.Config(), g.fiber.Server()
	for name, ok := range map[string]bool{
		"Immutable":                    c.Immutable,
		"CaseSensitive":                c.CaseSensitive,
		"StrictRouting":                c.StrictRouting,
		"UnescapePath":                 !c.UnescapePath,
		"ETag":                         !c.ETag,
		"StreamRequestBody":            !c.StreamRequestBody && !server.StreamRequestBody,
		"Prefork":                      !c.Prefork,
		"BodyLimit":                    c.BodyLimit == DefaultMaxBody+1 && server.MaxRequestBodySize == DefaultMaxBody+1,
		"Concurrency":                  server.Concurrency == 4096,
		"ReadBufferSize":               server.ReadBufferSize == 16<<10,
		"ReadTimeout":                  server.ReadTimeout == 5*time.Second,
		"WriteTimeout":                 server.WriteTimeout == 5*time.Second,
		"IdleTimeout":                  server.IdleTimeout == 30*time.Second,
		"DisablePreParseMultipartForm": server.DisablePreParseMultipartForm,
		"Network":                      c.Network == "tcp",
		"ErrorHandler":                 c.ErrorHandler != nil && server.ErrorHandler != nil,
		"SecureErrorLogMessage":        server.SecureErrorLogMessage,
		"CloseOnShutdown":              server.CloseOnShutdown,
		"ExpectHandler":                server.ExpectHandler != nil,
		"no proxy header is believed":  c.ProxyHeader == "" && !c.EnableTrustedProxyCheck,
		"no server name":               server.NoDefaultServerHeader,
	} {
		if !ok {
			t.Errorf("%s has changed", name)
		}
	}
}

// What a handler keeps of a request must not change when the connection carries the next one.
func TestSettings_Immutable_strings_outlive_their_request(t *testing.T) {
	t.Parallel()
	g := &Gateway{config: Config{}.withDefaults()}
	app := fiber.New(g.settings())
	type kept struct{ method, path, param, header, body string }
	var all []kept
	app.All("/:p", func(c *fiber.Ctx) error {
		all = append(all, kept{c.Method(), c.Path(), c.Params("p"), c.Get("X-A"), string(c.BodyRaw())})
		return nil
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- app.Listener(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "POST /first HTTP/1.1\r\nHost: a\r\nX-A: one\r\nContent-Length: 3\r\n\r\nabc"+
		"DELETE /other HTTP/1.1\r\nHost: a\r\nX-A: two\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz")
	if n := len(readReplies(t, conn, false)); n != 2 {
		t.Fatalf("got %d responses", n)
	}
	_ = conn.Close()
	if err := app.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	want := []kept{{"POST", "/first", "first", "one", "abc"}, {"DELETE", "/other", "other", "two", "xyz"}}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", all, want)
	}
}

func TestSettings_Network_serves_IPv6(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("the machine has no IPv6 loopback")
	}
	_ = ln.Close()
	if err := fiberListens(ln.Addr().String()); err != nil {
		t.Error(err)
	}
}

// fiberListens opens and closes a listener as Fiber itself does.
func fiberListens(addr string) error {
	g := &Gateway{config: Config{}.withDefaults()}
	app := fiber.New(g.settings())
	up := make(chan struct{})
	app.Hooks().OnListen(func(fiber.ListenData) error { close(up); return nil })
	served := make(chan error, 1)
	go func() { served <- app.Listen(addr) }()
	select {
	case err := <-served:
		return err
	case <-up:
	}
	for {
		// The hook runs before the server knows its listener.
		if err := app.Shutdown(); err != nil {
			return err
		}
		select {
		case err := <-served:
			return err
		default:
		}
	}
}

// What Fiber pins is open to request smuggling.
func TestSettings_fasthttp_is_new_enough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`github.com/valyala/fasthttp v1\.(\d+)\.`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("go.mod does not require fasthttp v1")
	}
	if minor, err := strconv.Atoi(m[1]); err != nil || minor < 78 {
		t.Errorf("go.mod requires fasthttp v1.%s, must be v1.78 or newer", m[1])
	}
}

// An answer is not stamped with a tag of its bytes, and a form is not taken apart.
func TestSettings_on_the_wire(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	if r := s.call("GET", "/v1/runs/r", ""); r.header.Get("ETag") != "" || r.header.Get("Server") != "" {
		t.Errorf("got %v", r.header)
	}
	form := "--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\n1\r\n--x--\r\n"
	checkProblem(t, s.call("POST", junkPath, form, "Content-Type", "multipart/form-data; boundary=x"), 415, "unsupported-media-type")
	checkProblem(t, s.call("POST", junkPath, "not a form", "Content-Type", "multipart/form-data; boundary=x"), 415, "unsupported-media-type")
}

func TestNew_refuses_a_bad_configuration(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	if _, err := New(Config{PublicURL: publicURL}); !errors.Is(err, ErrNoEngine) {
		t.Errorf("no engine: got %v", err)
	}
	if _, err := New(Config{Engine: eng}); !errors.Is(err, ErrNoPublicURL) {
		t.Errorf("no public URL: got %v", err)
	}
	if _, err := New(Config{Engine: eng, Dev: true}); err != nil {
		t.Errorf("dev mode without a public URL: %v", err)
	}
	for _, bad := range []string{"gate.example.com", "ftp://a", "https://", "https://u:" + secretWord + "@a", "https://a?b", "https://a#b", "https://" + secretWord + "\x7f"} {
		_, err := New(Config{Engine: eng, PublicURL: bad})
		if err == nil {
			t.Errorf("%q is taken", bad)
			continue
		}
		if strings.Contains(err.Error(), secretWord) {
			t.Errorf("the error repeats the URL: %v", err)
		}
	}
}
