package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// peerTable tells some figures of each peer that has any of them, below those of this engine.
type peerTable struct {
	title   string
	columns []peerColumn
	rate    string // ours over theirs ends the line
	times   string // what that is called
}

type peerColumn struct{ title, figure string }

var peerTables = []peerTable{
	{
		title: "Peers: one signal",
		columns: []peerColumn{
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
		},
		rate: "burst_runs_per_s", times: "our burst over it",
	},
	{
		title: "Peers: three steps in sequence, from start to end",
		columns: []peerColumn{
			{"runs/s at 1", "three_steps.per_s.1"},
			{"ms: p50", "three_steps.ms.1.p50"},
			{"p99", "three_steps.ms.1.p99"},
			{"runs/s at 64", "three_steps.per_s.64"},
			{"ms: p50", "three_steps.ms.64.p50"},
			{"p99", "three_steps.ms.64.p99"},
			{"CPU ms", "three_steps.cpu_ms_per_run"},
			{"WAL", "three_steps.wal_bytes_per_run"},
			{"commits", "three_steps.commits_per_run"},
		},
		rate: "three_steps.per_s.64", times: "our runs/s at 64 over it",
	},
}

// ours says by which name a figure of a peer is known of this engine: the number of clients comes last.
func ours(figure string) string {
	var name []string
	clients := ""
	for part := range strings.SplitSeq(figure, ".") {
		if _, err := strconv.Atoi(part); err == nil {
			clients = "_c" + part
		} else {
			name = append(name, part)
		}
	}
	return strings.Join(name, "_") + clients
}

// writePeers tells the peers below this engine, one in a line.
func (f *Figures) writePeers(t io.Writer) {
	for _, table := range peerTables {
		f.writePeerTable(t, table)
	}
}

func (f *Figures) writePeerTable(t io.Writer, table peerTable) {
	names := slices.DeleteFunc(f.peers(), func(name string) bool {
		return !slices.ContainsFunc(table.columns, func(c peerColumn) bool { return f.orDash(theirs(name, c.figure)) != none })
	})
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n  ", table.title)
	for _, c := range table.columns {
		fmt.Fprintf(t, "\t%s", c.title)
	}
	fmt.Fprintf(t, "\t%s\n  this engine", table.times)
	for _, c := range table.columns {
		fmt.Fprintf(t, "\t%s", f.orDash(ours(c.figure)))
	}
	fmt.Fprint(t, "\t\n")
	for _, name := range names {
		fmt.Fprintf(t, "  %s", name)
		for _, c := range table.columns {
			fmt.Fprintf(t, "\t%s", f.orDash(theirs(name, c.figure)))
		}
		times := none
		if ratio, ok := f.Ratio(ours(table.rate), theirs(name, table.rate)); ok {
			times = number(ratio) + " x"
		}
		fmt.Fprintf(t, "\t%s\n", times)
	}
}

func theirs(peer, figure string) string { return "peers." + peer + "." + figure }

// none stands for a figure that is not known.
const none = "-"

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
	return none
}
