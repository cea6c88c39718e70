package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// groups say in which order the table tells figures: under each title those that begin with one of the prefixes and
// stand in no group before. What no group takes comes last.
var groups = []struct {
	title    string
	prefixes []string
}{
	{"Raw: single-row insert commits", []string{"insert_commit"}},
	{"Floors", []string{"floor_"}},
	{"Start and park", []string{"park_"}},
	{"Round trip of one signal: call to observable completion, and to the receipt", []string{"roundtrip_", "receipt_"}},
	{"Burst: all parked runs signalled by 64 clients", []string{"burst_"}},
	{"Per signalled run of the burst", []string{
		"commits_per_run", "wal_", "rows_", "hot_share", "index_inserts", "row_locks", "cpu_ms_per_run",
	}},
	{"Runs of no step, of three steps in sequence and of one child, from start to end; a step and a child over a run of none", []string{
		"direct_", "three_steps_", "child_", "step_",
	}},
	{"Hook callbacks through the HTTP gateway", []string{"hook_"}},
	{"Steady load with duplicates and conflicts", []string{"steady_"}},
	{"One run, many signals", []string{"fan_in", "turn_", "cold_", "sequential_"}},
	{"Histories of settled steps: a turn that takes a signal, the same in a fresh process, and one of the steps", []string{"settled_"}},
	{"Idle", []string{"idle_"}},
	{"The best peer", []string{"best_peer"}},
	{"The program", []string{""}},
}

// WriteTable writes the figures for people: each with its span, and as a ratio to raw or floor where that says
// something; then the targets, the facts and what went wrong.
func (f *Figures) WriteTable(w io.Writer) error {
	var table bytes.Buffer
	t := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	told := map[string]bool{}
	for _, g := range groups {
		headed := false
		for _, prefix := range g.prefixes {
			for _, name := range f.Names(prefix) {
				if told[name] || strings.HasPrefix(name, "peers.") {
					continue
				}
				told[name] = true
				if !headed {
					fmt.Fprintf(t, "\n%s\n", g.title)
					headed = true
				}
				value, _ := f.Get(name)
				fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", name, number(value), f.span(name), f.against(name))
			}
		}
	}
	f.writePeers(t)
	f.writeTargets(t)
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return f.writeRemarks(w)
}

func (f *Figures) span(name string) string {
	least, most := f.Span(name)
	if least == most {
		return ""
	}
	return "[" + number(least) + " .. " + number(most) + "]"
}

// against tells a figure as a multiple of raw figures and floors that are in the same unit.
func (f *Figures) against(name string) string {
	var bases [][2]string
	switch {
	case strings.HasPrefix(name, "insert_commit"), strings.Contains(name, "idle"):
	case strings.Contains(name, "_ms_p5"), strings.Contains(name, "_ms_p9"):
		bases = [][2]string{{"insert_commit_ms_p50_c1", "insert commits"}}
	case strings.HasSuffix(name, "_per_s"), strings.Contains(name, "_per_s_c"):
		bases = [][2]string{{"insert_commit_per_s", "raw"}}
		if !strings.HasPrefix(name, "floor_") {
			bases = append(bases, [2]string{"floor_two_commit_per_s", "two commits"}, [2]string{"floor_history_per_s", "history floor"})
		}
	}
	if shortest, ok := f.shortest(name); ok {
		bases = [][2]string{{shortest, "the shortest"}}
	}
	var parts []string
	for _, base := range bases {
		if ratio, ok := f.Ratio(name, base[0]); ok {
			parts = append(parts, fmt.Sprintf("%.2f x %s", ratio, base[1]))
		}
	}
	return strings.Join(parts, ", ")
}

// shortest is the figure after the shortest history, of one after a longer.
func (f *Figures) shortest(name string) (string, bool) {
	family, length, ok := strings.Cut(name, "_by_events.")
	if !ok {
		return "", false
	}
	least, err := strconv.Atoi(length)
	shortest := name
	for _, other := range f.Names(family + "_by_events.") {
		_, length, _ := strings.Cut(other, "_by_events.")
		if n, err := strconv.Atoi(length); err == nil && n < least {
			shortest, least = other, n
		}
	}
	return shortest, err == nil && shortest != name
}

func (f *Figures) writeTargets(t io.Writer) {
	headed := false
	for _, target := range Targets {
		value, ok := target.Value(f)
		if !ok {
			continue
		}
		if !headed {
			fmt.Fprintln(t, "\nTargets, for two processors with everything on the same machine")
			headed = true
		}
		sign, said := "at most", "MISSED"
		if target.Least {
			sign = "at least"
		}
		if target.Met(value) {
			said = "met"
		}
		if target.Aimed(value) {
			said = "met, also what it aims at"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s %s\t%s\n", target.Name, number(value), sign, number(target.Must), said)
	}
}

func (f *Figures) writeRemarks(w io.Writer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out strings.Builder
	for _, part := range []struct {
		title string
		list  []string
	}{{"Notes", f.notes}, {"Left out", f.left}, {"WRONG", f.failed}} {
		if len(part.list) > 0 {
			fmt.Fprintf(&out, "\n%s\n", part.title)
		}
		for _, text := range part.list {
			fmt.Fprintf(&out, "  %s\n", text)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// number tells three to four digits.
func number(v float64) string {
	switch size := math.Abs(v); {
	case size >= 1000:
		return thousands(int64(math.Round(v)))
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.1 || v == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
}

func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
