package report

import (
	"fmt"
	"io"
	"strings"
)

// peerColumns are the figures that the table tells of each peer.
var peerColumns = []struct{ title, figure string }{
	{"runs/s", "burst_runs_per_s"},
	{"parked/s", "park_per_s"},
	{"ms at 1: p50", "roundtrip_ms.1.p50"},
	{"p99", "roundtrip_ms.1.p99"},
	{"at 16: p50", "roundtrip_ms.16.p50"},
	{"p99", "roundtrip_ms.16.p99"},
	{"at 64: p50", "roundtrip_ms.64.p50"},
	{"p99", "roundtrip_ms.64.p99"},
	{"receipt", "receipt_ms_p50_c1"},
	{"CPU ms", "cpu_ms_per_run"},
	{"WAL", "wal_bytes_per_run"},
	{"commits", "commits_per_run"},
}

// ours says by which name a figure of a peer is known of this engine.
func ours(figure string) string {
	parts := strings.Split(figure, ".")
	if len(parts) == 3 {
		return parts[0] + "_" + parts[2] + "_c" + parts[1]
	}
	return figure
}

// writePeers tells the peers below this engine, one in a line.
func (f *Figures) writePeers(t io.Writer) {
	names := f.peers()
	if len(names) == 0 {
		return
	}
	fmt.Fprint(t, "\nPeers\n  ")
	for _, c := range peerColumns {
		fmt.Fprintf(t, "\t%s", c.title)
	}
	fmt.Fprint(t, "\tour burst over it\n  this engine")
	for _, c := range peerColumns {
		fmt.Fprintf(t, "\t%s", f.orDash(ours(c.figure)))
	}
	fmt.Fprint(t, "\t\n")
	for _, name := range names {
		fmt.Fprintf(t, "  %s", name)
		for _, c := range peerColumns {
			fmt.Fprintf(t, "\t%s", f.orDash("peers."+name+"."+c.figure))
		}
		times := "-"
		if ratio, ok := f.Ratio("burst_runs_per_s", "peers."+name+".burst_runs_per_s"); ok {
			times = number(ratio) + " x"
		}
		fmt.Fprintf(t, "\t%s\n", times)
	}
}

// peers are the names of the peers that have figures.
func (f *Figures) peers() (names []string) {
	for _, figure := range f.Names("peers.") {
		name := strings.Split(figure, ".")[1]
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

func (f *Figures) orDash(name string) string {
	if value, ok := f.Get(name); ok {
		return number(value)
	}
	return "-"
}
