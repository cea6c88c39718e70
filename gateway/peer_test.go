package gateway

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestPeerOf(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, tc := range map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"a stranger":                         {"203.0.113.9:1", nil, "203.0.113.9"},
		"a stranger who claims another":      {"203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9"},
		"a proxy without the header":         {"10.0.0.1:1", nil, "10.0.0.1"},
		"a proxy":                            {"10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		"the client's own claim is left out": {"10.0.0.1:1", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		"over several lines":                 {"10.0.0.1:1", []string{"1.1.1.1", "198.51.100.1, 10.2.2.2"}, "198.51.100.1"},
		"proxies only":                       {"10.0.0.1:1", []string{"10.3.3.3"}, "10.0.0.1"},
		"junk beside us":                     {"10.0.0.1:1", []string{"198.51.100.1, junk"}, "10.0.0.1"},
		"junk behind the answer":             {"10.0.0.1:1", []string{"junk, 198.51.100.1"}, "198.51.100.1"},
		"with a port":                        {"10.0.0.1:1", []string{"198.51.100.1:80"}, "10.0.0.1"},
		"with a zone":                        {"10.0.0.1:1", []string{"fe80::1%eth0"}, "10.0.0.1"},
		"IPv4 in IPv6":                       {"[::ffff:10.0.0.1]:1", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"IPv6":                               {"[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		"too many":                           {"10.0.0.1:1", []string{strings.Repeat("1.1.1.1,", 20) + "1.1.1.1"}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tc.remote))
			if got := peerOf(remote, tc.forwarded, trusted); got != netip.MustParseAddr(tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
