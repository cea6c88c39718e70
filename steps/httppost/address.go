package httppost

import "net/netip"

// special are the addresses that are not of the public internet, with the rule that refuses them. What lies outside
// 2000::/3 is refused without being listed here. Sources: the registries of special-purpose addresses of IANA, and the
// fixed address of Azure's host.
var special = []struct {
	net  netip.Prefix
	rule string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), ruleSite},
	{netip.MustParsePrefix("100.64.0.0/10"), ruleShared},
	{netip.MustParsePrefix("127.0.0.0/8"), ruleLoopback},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud host"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), ruleSite},
	{netip.MustParsePrefix("192.0.0.0/24"), ruleReserved},
	{netip.MustParsePrefix("192.0.2.0/24"), ruleDocs},
	{netip.MustParsePrefix("192.88.99.0/24"), ruleReserved},
	{netip.MustParsePrefix("192.168.0.0/16"), ruleSite},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), ruleDocs},
	{netip.MustParsePrefix("203.0.113.0/24"), ruleDocs},
	{netip.MustParsePrefix("224.0.0.0/4"), ruleMulticast},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), ruleReserved},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), ruleLoopback},
	{netip.MustParsePrefix("2001::/32"), "Teredo"},
	{netip.MustParsePrefix("2001::/23"), ruleReserved},
	{netip.MustParsePrefix("2001:db8::/32"), ruleDocs},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("3fff::/20"), ruleDocs},
	{netip.MustParsePrefix("fc00::/7"), ruleSite},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), ruleMulticast},
}

const (
	ruleLoopback  = "loopback"
	ruleSite      = "private"
	ruleShared    = "shared"
	ruleReserved  = "reserved"
	ruleDocs      = "documentation"
	ruleMulticast = "multicast"
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// refusal is the rule that keeps an address from being connected to; empty if it is public. An IPv4 address inside an
// IPv6 one counts where packets would reach it.
func refusal(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range special {
		if s.net.Contains(a) {
			return s.rule
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) || !a.IsValid() {
		return ruleReserved
	}
	return ""
}

// addressRules add what the host of this process allows.
type addressRules struct {
	networks []netip.Prefix
	hosts    hostList
}

// refusal is the rule that keeps a host from being reached at an address.
func (r addressRules) refusal(host string, a netip.Addr) string {
	rule := refusal(a)
	if rule == "" {
		return ""
	}
	for _, p := range r.networks {
		if p.Contains(a.Unmap().WithZone("")) {
			return ""
		}
	}
	if (rule == ruleLoopback || rule == ruleSite || rule == ruleShared) && r.hosts.has(host) {
		return ""
	}
	return rule
}
