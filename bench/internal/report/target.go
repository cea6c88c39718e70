package report

import "strings"

// Target is what a figure, mostly a ratio, should reach.
type Target struct {
	Name  string
	Must  float64
	Aim   float64 // better than Must, or zero
	Least bool    // the value must be at least Must; else at most
	Value func(*Figures) (float64, bool)
}

// Met says whether a value reaches the target.
func (t Target) Met(value float64) bool { return reaches(value, t.Must, t.Least) }

// Aimed says whether a value reaches what the target aims at.
func (t Target) Aimed(value float64) bool { return t.Aim != 0 && reaches(value, t.Aim, t.Least) }

func reaches(value, bound float64, least bool) bool {
	if least {
		return value >= bound
	}
	return value <= bound
}

// Targets are for two processors with everything on the same machine. Ratios hold elsewhere, roughly.
var Targets = []Target{
	{"burst over raw inserts", 0.45, 0.8, true, over("burst_runs_per_s", "insert_commit_per_s")},
	{"burst over the best peer", 8, 15, true, over("burst_runs_per_s", "best_peer_per_s")},
	{"three-step runs, 64 in flight, over the best peer", 2, 4, true, over("three_steps_per_s_c64", "best_peer_three_steps_per_s")},
	{"three-step run p50, 1 in flight, over the fastest peer", 1, 0, false, overLeast("three_steps_ms_p50_c1", "", "three_steps.ms.1.p50")},
	{"CPU per three-step run over DBOS", 0.5, 1.0 / 3, false, overLeast("three_steps_cpu_ms_per_run", "dbos", "three_steps.cpu_ms_per_run")},
	{"commits per three-step run", 1, 0.5, false, plain("three_steps_commits_per_run")},
	{"WAL bytes per three-step run", 9000, 7000, false, plain("three_steps_wal_bytes_per_run")},
	{"hook callbacks over HTTP, over raw inserts", 0.3, 0.5, true, over("hook_http_runs_per_s", "insert_commit_per_s")},
	{"round trip p50, 1 in flight, in insert commits", 5, 3, false, over("roundtrip_ms_p50_c1", "insert_commit_ms_p50_c1")},
	{"round trip p50, 1 in flight, over the fastest peer", 1, 0, false, overLeast("roundtrip_ms_p50_c1", "", "roundtrip_ms.1.p50")},
	{"receipt p50, 1 in flight, in insert commits", 2, 0, false, over("receipt_ms_p50_c1", "insert_commit_ms_p50_c1")},
	{"round trip p50, 64 in flight, over DBOS", 0.2, 0, false, overLeast("roundtrip_ms_p50_c64", "dbos", "roundtrip_ms.64.p50")},
	{"round trip p99, 64 in flight, over DBOS", 0.25, 0, false, overLeast("roundtrip_ms_p99_c64", "dbos", "roundtrip_ms.64.p99")},
	{"start and park over raw inserts", 0.6, 1.5, true, over("park_per_s", "insert_commit_per_s")},
	{"commits per signalled run", 0.2, 0, false, plain("commits_per_run")},
	{"WAL bytes per signalled run", 2500, 1800, false, plain("wal_bytes_per_run")},
	{"CPU per signalled run over DBOS", 1.0 / 6, 0, false, overLeast("cpu_ms_per_run", "dbos", "cpu_ms_per_run")},
	{"fan-in over burst", 0.3, 0, true, over("fan_in_per_s", "burst_runs_per_s")},
	{"warm resume after 1,000 over after 10", 1.3, 0, false, over("turn_us_by_history.1000", "turn_us_by_history.10")},
	{"cold resume after 1,000, ms", 10, 0, false, plain("cold_ms_by_history.1000")},
	{"1,000 signals in sequence over 100", 12, 0, false, plain("sequential_1000_over_100")},
	{"warm turn after 10,000 events of steps over after 10", 5, 3, false, over("settled_turn_us_by_events.10000", "settled_turn_us_by_events.10")},
	{"cold turn after 10,000 events of steps over after 1,000", 12, 0, false, over("settled_cold_ms_by_events.10000", "settled_cold_ms_by_events.1000")},
	{"100,000 parked: statements per second", 1, 0, false, plain("idle_by_parked.100000.statements_per_s")},
	{"100,000 parked: CPU seconds per minute", 0.5, 0, false, plain("idle_by_parked.100000.cpu_s_per_min")},
	{"100,000 parked: memory, MB", 100, 0, false, plain("idle_by_parked.100000.rss_mb")},
	{"burst with 100,000 parked over with 2,000", 0.95, 0, true, plain("burst_100000_over_2000_parked")},
}

func plain(name string) func(*Figures) (float64, bool) {
	return func(f *Figures) (float64, bool) { return f.Get(name) }
}

func over(name, base string) func(*Figures) (float64, bool) {
	return func(f *Figures) (float64, bool) { return f.Ratio(name, base) }
}

// overLeast is the ratio to that of all peers whose names begin with a text which has the least figure.
func overLeast(name, peer, figure string) func(*Figures) (float64, bool) {
	return func(f *Figures) (float64, bool) {
		best, least := "", 0.0
		for _, candidate := range f.peers() {
			v, ok := f.Get(theirs(candidate, figure))
			if ok && v > 0 && strings.HasPrefix(candidate, peer) && (best == "" || v < least) {
				best, least = theirs(candidate, figure), v
			}
		}
		return f.Ratio(name, best)
	}
}
