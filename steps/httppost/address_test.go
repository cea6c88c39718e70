package httppost_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/steps/httppost"
)

// internal has one address, or more, of every class that is not the public internet.
var internal = map[string]string{
	"127.0.0.1": "loopback", "127.255.255.254": "loopback", "::1": "loopback",
	"10.0.0.1": "private", "10.255.255.255": "private", "172.16.0.1": "private", "172.31.255.255": "private",
	"192.168.0.1": "private", "fc00::1": "private", "fd00:ec2::254": "private",
	"169.254.169.254": "link-local", "169.254.0.1": "link-local", "fe80::1": "link-local", "febf::1": "link-local",
	"100.64.0.1": "shared", "100.127.255.255": "shared", "100.100.100.200": "shared",
	"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified",
	"224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast",
	"255.255.255.255": "broadcast", "240.0.0.1": "reserved", "192.0.0.192": "reserved", "192.88.99.1": "reserved",
	"192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.1": "documentation",
	"2001:db8::1": "documentation", "3fff::1": "documentation",
	"198.18.0.1": "benchmarking", "198.19.255.255": "benchmarking", "2001:2::1": "reserved", "2001:10::1": "reserved",
	"168.63.129.16":    "cloud host",
	"::ffff:127.0.0.1": "loopback", "::ffff:169.254.169.254": "link-local", "::ffff:10.0.0.1": "private",
	"64:ff9b::7f00:1": "loopback", "64:ff9b::a9fe:a9fe": "link-local", "64:ff9b::10.1.2.3": "private",
	"64:ff9b:1::1": "reserved", "2002:7f00:1::": "6to4", "2002:a00:1::1": "6to4", "2001:0:1::1": "Teredo",
	"::127.0.0.1": "reserved", "::a00:1": "reserved", "fec0::1": "reserved", "100::1": "reserved", "5f00::1": "reserved",
	"fe80::1%eth0": "link-local",
}

var public = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
	"169.253.255.255", "192.167.255.255", "198.17.255.255", "198.20.0.0", "223.255.255.255",
	"2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::101:101", "::ffff:1.1.1.1",
}

func TestEveryClassOfAddressHasItsRule(t *testing.T) {
	t.Parallel()
	for text, want := range internal {
		if got := httppost.Refusal(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range public {
		if got := httppost.Refusal(netip.MustParseAddr(text)); got != "" {
			t.Errorf("%s: %q, want none", text, got)
		}
	}
	if httppost.Refusal(netip.Addr{}) == "" {
		t.Error("no address at all passes")
	}
}

// Whether an address is spelt in the URL or found behind a name, nothing connects to it.
func TestInternalAddressesAreRefused(t *testing.T) {
	t.Parallel()
	names := &resolver{names: map[string][][]netip.Addr{}}
	p := newPoster(t, httppost.Config{Resolver: names})
	httppost.OnConnect(p, func(to netip.AddrPort) error {
		t.Errorf("about to connect to %s", to)
		return errors.New("not in a test")
	})
	for text, rule := range internal {
		addr := netip.MustParseAddr(text)
		names.names["rebound.example.com"] = [][]netip.Addr{{addr}}
		_, err := do(t, p, httppost.Input{URL: "https://rebound.example.com/?q=hush", Body: 1})
		wantFailure(t, err, httppost.CodeTarget, true)
		if e, ok := errors.AsType[*httppost.Error](err); !ok || e.Host != "rebound.example.com" || !strings.Contains(e.Rule, rule) {
			t.Errorf("%s: %v, want host and %q", text, err, rule)
		}
		if addr.Zone() != "" {
			continue
		}
		_, err = do(t, p, httppost.Input{URL: "https://" + netip.AddrPortFrom(addr, 443).String(), Body: 1})
		wantFailure(t, err, httppost.CodeTarget, true)
	}
}

// A name that leads outside when it is asked about and inside when it is connected to gains nothing: it is asked about
// once, and each connection asks again.
func TestRebindingNames(t *testing.T) {
	t.Parallel()
	names := &resolver{names: map[string][][]netip.Addr{"rebound.example.com": {
		addresses("1.1.1.1"), addresses("169.254.169.254"), addresses("127.0.0.1", "2606:4700::1111", "10.0.0.1"),
	}}}
	p := newPoster(t, httppost.Config{Resolver: names})
	var to []string
	stop := errors.New("not in a test")
	httppost.OnConnect(p, func(a netip.AddrPort) error { to = append(to, a.String()); return stop })
	in := httppost.Input{URL: "https://rebound.example.com", Body: 1}

	_, err := do(t, p, in)
	wantFailure(t, err, httppost.CodeNetwork, false)
	_, err = do(t, p, in)
	wantFailure(t, err, httppost.CodeTarget, true)
	_, err = do(t, p, in)
	wantFailure(t, err, httppost.CodeNetwork, false)
	if got := strings.Join(to, " "); got != "1.1.1.1:443 [2606:4700::1111]:443" || names.asked != 3 {
		t.Errorf("about to connect to %s, asked %d times", got, names.asked)
	}
}

func TestWhatTheHostAllows(t *testing.T) {
	t.Parallel()
	tenNet := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tt := range []struct {
		name    string
		config  httppost.Config
		address string
		url     string
		passes  bool
	}{
		{"a network", httppost.Config{InternalNetworks: tenNet}, "10.1.2.3", "https://a.example.com", true},
		{"a network, mapped", httppost.Config{InternalNetworks: tenNet}, "::ffff:10.1.2.3", "https://a.example.com", true},
		{"a network, through NAT64", httppost.Config{InternalNetworks: tenNet}, "64:ff9b::10.1.2.3", "https://a.example.com", false},
		{"another network", httppost.Config{InternalNetworks: tenNet}, "192.168.0.1", "https://a.example.com", false},
		{"a host", httppost.Config{InternalHosts: []string{"a.example.com"}}, "192.168.0.1", "https://a.example.com", true},
		{"a host, other spelling", httppost.Config{InternalHosts: []string{"A.example.com."}}, "127.0.0.1", "https://a.EXAMPLE.com.", true},
		{"a host below", httppost.Config{InternalHosts: []string{"*.example.com"}}, "100.64.0.1", "https://x.a.example.com", true},
		{"another host", httppost.Config{InternalHosts: []string{"a.example.com"}}, "192.168.0.1", "https://b.example.com", false},
		{"a host that leads to metadata", httppost.Config{InternalHosts: []string{"a.example.com"}}, "169.254.169.254", "https://a.example.com", false},
		{"a listed host", httppost.Config{Hosts: []string{"*.example.com"}}, "1.1.1.1", "https://a.example.com", true},
		{"a listed host that leads inside", httppost.Config{Hosts: []string{"*.example.com"}}, "10.0.0.1", "https://a.example.com", false},
		{"the apex of a pattern", httppost.Config{Hosts: []string{"*.example.com"}}, "1.1.1.1", "https://example.com", false},
		{"a host that ends alike", httppost.Config{Hosts: []string{"*.example.com"}}, "1.1.1.1", "https://badexample.com", false},
		{"a host that begins alike", httppost.Config{Hosts: []string{"a.example.com"}}, "1.1.1.1", "https://a.example.com.evil.org", false},
	} {
		c := tt.config
		host := strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(tt.url, "https://")), ".")
		c.Resolver = &resolver{names: map[string][][]netip.Addr{host: {addresses(tt.address)}}}
		p := newPoster(t, c)
		connects := 0
		httppost.OnConnect(p, func(netip.AddrPort) error { connects++; return errors.New("not in a test") })
		_, err := do(t, p, httppost.Input{URL: tt.url, Body: 1})
		if tt.passes {
			wantFailure(t, err, httppost.CodeNetwork, false)
		} else {
			wantFailure(t, err, httppost.CodeTarget, true)
		}
		if connects == 1 != tt.passes {
			t.Errorf("%s: %d connects", tt.name, connects)
		}
	}
}

// The address of the socket itself is checked, whatever was found for the name before.
func TestTheSocketsAddressIsChecked(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	address := strings.TrimPrefix(r.URL, "https://")
	if err := httppost.ConnectTo(t.Context(), newPoster(t, r.reaching()), "example.com", address); err != nil {
		t.Fatal(err)
	}
	p := newPoster(t, httppost.Config{})
	for _, to := range []string{address, strings.Replace(address, "127.0.0.1", "localhost", 1)} {
		err := httppost.ConnectTo(t.Context(), p, "example.com", to)
		if e, ok := errors.AsType[*httppost.Error](err); !ok || e.Code != httppost.CodeTarget || e.Host != "example.com" {
			t.Errorf("%s: %v", to, err)
		}
	}
}
