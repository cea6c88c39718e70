package main

import (
	"testing"

	"github.com/flowgate-go/flowgate/bench/internal/report"
)

func TestPeersAreTakenOver(t *testing.T) {
	t.Parallel()
	var f report.Figures
	if err := takePeers([]byte(`{"peers":[
		{"name":"dbos-tuned","version":"v1","burst_runs_per_s":900,"roundtrip_ms":{"1":{"p50":2.1,"p99":5},"64":{"p50":60,"p99":120}},
			"three_steps":{"per_s":{"1":300,"64":700},"ms":{"64":{"p50":90,"p99":130}},"commits_per_run":5}},
		{"name":"river-tuned","version":"v2","burst_runs_per_s":1000,"roundtrip_ms":{"1":{"p50":2.7,"p99":5}}},
		{"name":"other","error":"it hangs"}]}`), &f); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"best_peer_per_s": 1000, "peers.dbos-tuned.burst_runs_per_s": 900, "peers.dbos-tuned.roundtrip_ms.64.p99": 120,
		"best_peer_three_steps_per_s": 700, "peers.dbos-tuned.three_steps.ms.64.p99": 130, "peers.dbos-tuned.three_steps.commits_per_run": 5,
	} {
		if got, ok := f.Get(name); !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if facts := f.Facts(); facts["best_peer"] != "river-tuned" || facts["best_peer_three_steps"] != "dbos-tuned" || facts["peers.dbos-tuned.version"] != "v1" {
		t.Errorf("facts %v", facts)
	}
	for _, out := range []string{
		``, `{}`, `{"peers":[{"burst_runs_per_s":1}]}`, `{"peers":[{"name":"a.b","burst_runs_per_s":1}]}`, `{"peers":[{"name":"slow"}]}`,
	} {
		if err := takePeers([]byte(out), &report.Figures{}); err == nil {
			t.Errorf("%q passed", out)
		}
	}
}

// A job of the peers that stands beside nothing measured here would only take time.
func TestPeersDoTheJobsThatAreMeasuredHere(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{
		"": "", "peers": "", "raw,steps,peers": "steps", "raw,burst,trips,peers": "signal", "trips,steps,peers": "",
	} {
		o, err := parse([]string{"-peers", "-only", only}, t.Output())
		if err != nil {
			t.Fatal(err)
		}
		if got := o.peerJobs(); got != want {
			t.Errorf("-only %s: %q, want %q", only, got, want)
		}
	}
}
