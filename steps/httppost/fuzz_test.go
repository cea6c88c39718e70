package httppost_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// insideNets is a second opinion on what is not public, from the standard library and by hand.
var insideNets = []string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"240.0.0.0/4", "2001:db8::/32", "2002::/16", "2001::/32", "64:ff9b:1::/48", "fec0::/10", "::/96",
}

func isInside(a netip.Addr) bool {
	a = a.Unmap()
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, n := range insideNets {
		if netip.MustParsePrefix(n).Contains(a) {
			return true
		}
	}
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || !a.IsGlobalUnicast()
}

var errNotInATest = errors.New("not in a test")

// connects runs one attempt and returns the addresses that it was about to connect to.
func connects(t testing.TB, target string, found []netip.Addr, c httppost.Config) (to []netip.AddrPort, err error) {
	c.AllowHTTP = true
	names := &resolver{names: map[string][][]netip.Addr{}}
	c.Resolver = names
	if u, err := url.Parse(target); err == nil {
		names.names[strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))] = [][]netip.Addr{found}
	}
	p, err := httppost.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	httppost.OnConnect(p, func(a netip.AddrPort) error { to = append(to, a); return errNotInATest })
	raw, err := json.Marshal(map[string]any{"url": target, "body": 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Step()(t.Context(), &engine.Step{Namespace: "default", Attempt: 1, IdempotencyKey: key, Input: raw})
	return to, err
}

// FuzzTarget: whatever a URL is and whatever its name resolves to, only public addresses are connected to, and no error
// repeats what stands behind the host.
func FuzzTarget(f *testing.F) {
	for _, u := range badURLs {
		f.Add(u, []byte{127, 0, 0, 1})
	}
	for text := range internal {
		a := netip.MustParseAddr(text)
		f.Add("https://example.com/?q="+hush, a.AsSlice())
		f.Add("https://"+netip.AddrPortFrom(a, 80).String(), []byte{1, 1, 1, 1})
	}
	f.Add("http://EXAMPLE.com.:443/x", []byte{8, 8, 8, 8})
	f.Fuzz(func(t *testing.T, target string, found []byte) {
		var list []netip.Addr
		for len(found) >= 4 {
			n := 4
			if len(found) >= 16 {
				n = 16
			}
			a, _ := netip.AddrFromSlice(found[:n])
			list, found = append(list, a), found[n:]
		}
		to, err := connects(t, target, list, httppost.Config{})
		for _, a := range to {
			if isInside(a.Addr()) || a.Port() != 443 && a.Port() != 80 {
				t.Errorf("%q with %v: connects to %s", target, list, a)
			}
		}
		if err == nil {
			t.Fatalf("%q: no error", target)
		}
		wantQuiet(t, target, err)
	})
}

// wantQuiet looks for the parts of a URL that errors may not repeat.
func wantQuiet(t *testing.T, target string, err error) {
	t.Helper()
	u, parse := url.Parse(target)
	if parse != nil {
		return
	}
	for _, part := range []string{u.RawQuery, u.Path, u.User.String(), u.Fragment} {
		if len(part) > 8 && strings.Contains(err.Error(), part) && !strings.Contains(u.Host, part) {
			t.Errorf("%q: %v repeats %q", target, err, part)
		}
	}
}

// FuzzInput: an input decodes into what encodes and decodes as the same, or is refused for good; nothing panics.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"url":"https://example.com","body":{"a":[1,"x",null]},"headers":{"X-A":"1"},"timeout":"5s","statuses":[200]}`))
	f.Add([]byte(`{"to":"x","body":"{hook:a}","links":["a"],"capture_bytes":5,"capture_headers":["Date"],"message_id":"m","auth":"a","sign_with":"s"}`))
	f.Add([]byte(`{"body":null}`))
	f.Add([]byte(`[]`))
	p, err := httppost.New(httppost.Config{NamedOnly: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := p.Step()(t.Context(), &engine.Step{Namespace: "default", Attempt: 1, IdempotencyKey: key, Input: raw})
		if err == nil || out != nil {
			t.Fatalf("sent to nowhere: %v", out)
		}
		if a := engine.AdviceOf(err); a.Code != engine.CodeInput && a.Code != httppost.CodeUnconfigured || a.Final != (a.Code == engine.CodeInput) {
			t.Errorf("%v: %+v", err, a)
		}
		in, err := httppost.DecodeInput(raw)
		if err != nil {
			return
		}
		once, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		again, err := httppost.DecodeInput(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(once) {
			t.Errorf("%s became %s, %v", once, twice, err)
		}
	})
}

// Whatever a name resolves to and whatever the host allows, a connect is only ever made to an allowed address.
func TestOnlyAllowedAddressesAreConnectedTo(t *testing.T) {
	t.Parallel()
	known := append([]string(nil), public...)
	for text := range internal {
		known = append(known, text)
	}
	rapid.Check(t, func(r *rapid.T) {
		address := rapid.OneOf(
			rapid.Map(rapid.SampledFrom(known), func(s string) netip.Addr { return netip.MustParseAddr(s).WithZone("") }),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), func(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b)) }),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), func(b []byte) netip.Addr {
				return netip.AddrFrom16([16]byte(append([]byte{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, b...)))
			}),
		)
		found := rapid.SliceOfN(address, 0, 12).Draw(r, "found")
		var c httppost.Config
		for i := range rapid.IntRange(0, 2).Draw(r, "networks") {
			a := rapid.SampledFrom([]string{"10.0.0.0/8", "127.0.0.1/32", "fd00::/8", "169.254.0.0/16"}).Draw(r, string(rune('a'+i)))
			c.InternalNetworks = append(c.InternalNetworks, netip.MustParsePrefix(a))
		}
		target := "https://example.com/"
		if literal := rapid.Bool().Draw(r, "literal"); literal && len(found) > 0 {
			target = "https://" + netip.AddrPortFrom(found[0], 443).String()
		}
		to, err := connects(t, target, found, c)
		if err == nil {
			r.Fatal("sent")
		}
		for _, a := range to {
			allowed := !isInside(a.Addr())
			for _, n := range c.InternalNetworks {
				allowed = allowed || n.Contains(a.Addr())
			}
			if !allowed {
				r.Fatalf("connects to %s", a)
			}
		}
	})
}
