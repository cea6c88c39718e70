package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// census counts what the runs of all rounds came to.
type census struct {
	ends   map[string]int // runs by workflow and status
	events map[string]int // by type
	logged logged
	tokens int // handed out
	files  int // searched for tokens, in the last round
}

func newCensus() census {
	return census{
		ends: map[string]int{}, events: map[string]int{}, logged: newLogged(),
	}
}

func (c *census) count(w world) {
	for _, r := range w.runs {
		if r == nil {
			continue
		}
		c.ends[r.Workflow+" "+string(r.Status)]++
		for _, e := range r.events {
			c.events[e.Type]++
		}
	}
}

// progress prints a line now and then until ctx ends.
func (s *soak) progress(ctx context.Context, l *load) {
	every := time.NewTicker(max(10*time.Second, s.length/60))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			t := l.callers.ledger.sums()
			fmt.Fprintf(os.Stdout, "soak: %s, round %d: %d acknowledged, %d stories told, %d processes and %d PostgreSQLs killed\n",
				time.Since(s.from).Round(time.Second), l.round, t.acknowledged(), l.told.Load(),
				s.cluster.kills.Load(), s.db.crashes.Load())
		}
	}
}

// report prints what the soak did.
func (s *soak) report(to io.Writer) {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	t, loaded := s.tally, max(s.loaded.Seconds(), 0.001)
	row("acknowledged", "%d in %.0f s of load, %.0f a second", t.acknowledged(), loaded, float64(t.acknowledged())/loaded)
	for _, k := range kinds {
		row("  "+string(k), "%d", t.first[k])
	}
	row("  again (duplicates)", "%d", t.duplicates)
	row("conflicts", "%d", t.conflicts)
	for _, code := range slices.Sorted(maps.Keys(t.refused)) {
		row("refused, "+code, "%d", t.refused[code])
	}
	row("without an answer", "%d, and %d told to come again", t.unanswered, t.busy)
	row("longest without any acknowledgement", "%s", t.longestGap.Round(time.Millisecond))
	row("slowest answer", "%s", t.slowest.Round(time.Millisecond))
	if s.cluster != nil {
		row("processes killed", "%d, and %d starts without a database", s.cluster.kills.Load(), s.cluster.failed.Load())
		row("connections cut, notifications dropped", "%d, %d", s.cuts(), s.dropped())
		row("clock off", "%s", s.wrongClock())
	}
	if s.db != nil {
		row("PostgreSQL killed", "%d, away for %s at most", s.db.crashes.Load(),
			time.Duration(s.db.away.Load()).Round(time.Millisecond))
	}
	for _, end := range slices.Sorted(maps.Keys(s.census.ends)) {
		row("runs, "+end, "%d", s.census.ends[end])
	}
	row("events", "%s", counts(s.census.events))
	row("errors logged", "%s", counts(s.census.logged.errors))
	row("errors of PostgreSQL", "%s", counts(s.census.logged.states))
	row("tokens searched for", "%d in %d files", s.census.tokens, s.census.files)
	_ = out.Flush() // to a terminal
}

// counts words a map of counts, largest first.
func counts(of map[string]int) string {
	names := slices.Collect(maps.Keys(of))
	slices.SortFunc(names, func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	var words []string
	for _, name := range names {
		words = append(words, fmt.Sprintf("%s %d", name, of[name]))
	}
	return strings.Join(words, ", ")
}

func (s *soak) cuts() (sum int64) {
	for _, slot := range s.cluster.slots {
		sum += slot.proxy.cuts.Load()
	}
	return sum
}

func (s *soak) dropped() (sum int64) {
	for _, slot := range s.cluster.slots {
		sum += slot.proxy.dropped.Load()
	}
	return sum
}

func (s *soak) wrongClock() string {
	for _, slot := range s.cluster.slots {
		if slot.clock != 0 {
			return fmt.Sprintf("process %d, by %s", slot.number, slot.clock)
		}
	}
	return "none"
}

// enough is how long a soak must be to be sure to have met everything.
const enough = 40 * time.Second

// idle names what a soak was for and did not meet: then it proves less than it says.
func (s *soak) idle() []violation {
	if s.loaded < enough {
		return nil
	}
	t, e := s.tally, s.census.events
	met := map[string]int{
		"kills of processes": int(s.cluster.kills.Load()), "kills of PostgreSQL": int(s.db.crashes.Load()),
		"notifications dropped": int(s.dropped()), "messages without an answer": t.unanswered,
		"duplicates": t.duplicates, "conflicts": t.conflicts, "expiries": e["hook.expired"], "disposals": t.first[kindDispose],
		"generations": e["run.continued"], "time-outs": e["wait.timed_out"], "cancellations": t.first[kindCancel],
		"blocked runs": e["run.blocked"], "runs unblocked": e["run.unblocked"], "signals to ended runs": t.refused["run-ended"],
		"answers to withdrawn hooks": t.refused["hook-closed disposed"], "late answers": t.refused["hook-closed expired"],
		"runs stuck for good": s.census.ends[slowFlow+" blocked"], "open collectors": s.census.ends[collectFlow+" running"],
	}
	var found []violation
	for _, what := range slices.Sorted(maps.Keys(met)) {
		if met[what] == 0 {
			found = append(found, violation{"the soak", "has met no " + what})
		}
	}
	return found
}
