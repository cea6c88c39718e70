package httppost

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURLBytes bounds a URL.
const maxURLBytes = 2048

// targetRules are what a URL is held to before anything is resolved.
type targetRules struct {
	http  bool
	ports []uint16
}

// parse checks a URL and brings its host into one form. The rule is empty if the URL is good, and never repeats any of it.
func (r targetRules) parse(text string) (u *url.URL, rule string) {
	if text == "" || len(text) > maxURLBytes {
		return nil, fmt.Sprintf("must be an absolute URL of at most %d bytes", maxURLBytes)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '\\' }) {
		return nil, "must be printable ASCII without spaces and backslashes: percent-encode the rest, and write hosts as xn--"
	}
	u, err := url.Parse(text) // its error repeats the URL
	switch {
	case err != nil:
		return nil, "must be a URL such as https://example.com/path"
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "must begin with https://"
	case u.Scheme == "http" && !r.http:
		return nil, "must begin with https:// where http is not configured"
	case u.Opaque != "" || u.Host == "":
		return nil, "must name a host"
	case u.User != nil:
		return nil, "must not hold a user or password: name a credential under auth"
	case strings.Contains(text, "#"):
		return nil, "must not have a fragment, which is never sent"
	}
	host, rule := parseHost(u.Hostname())
	if rule != "" {
		return nil, rule
	}
	port, ok := portOf(u)
	if !ok || !slices.Contains(r.ports, port) {
		return nil, "must use a configured port"
	}
	u.Host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	return u, ""
}

// portOf is the port of a URL, or the one of its scheme.
func portOf(u *url.URL) (uint16, bool) {
	text := u.Port()
	if text == "" {
		if u.Scheme == "http" {
			return 80, true
		}
		return 443, true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && n > 0
}

// hostHeader is the header Host of a URL of parse: without the port where it is the scheme's own.
func hostHeader(u *url.URL) string {
	if u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		return strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Host
}
