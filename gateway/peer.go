package gateway

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// maxHops bounds how many addresses of X-Forwarded-For are looked at; a longer list is not believed.
const maxHops = 20

// peerOf returns the address a request came from: the peer of the connection or, when that is a trusted proxy, the
// rightmost address of all X-Forwarded-For lines that no trusted proxy has. What stands left of it was written by the
// client. A list that cannot be read yields the connection's peer.
func peerOf(remote net.Addr, forwarded []string, trusted []netip.Prefix) netip.Addr {
	peer := addressOf(remote)
	if !trusts(trusted, peer) {
		return peer
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	if len(hops) > maxHops {
		return peer
	}
	for _, text := range slices.Backward(hops) {
		hop, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || hop.Zone() != "" {
			return peer
		}
		if hop = hop.Unmap(); !trusts(trusted, hop) {
			return hop
		}
	}
	return peer
}

func addressOf(remote net.Addr) netip.Addr {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

func trusts(trusted []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}
