package main

import (
	"testing"

	"github.com/flowgate-go/flowgate/bench/internal/report"
)

func TestPeersAreTakenOver(t *testing.T) {
	t.Parallel()
	var f report.Figures
	if err := takePeers([]byte(`{"peers":[
		{"name":"dbos-tuned","version":"v1","burst_runs_per_s":900,"roundtrip_ms":{"1":{"p50":2.1,"p99":5},"64":{"p50":60,"p99":120}}},
		{"name":"river-tuned","version":"v2","burst_runs_per_s":1000,"roundtrip_ms":{"1":{"p50":2.7,"p99":5}}},
		{"name":"other","error":"it hangs"}]}`), &f); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"best_peer_per_s": 1000, "peers.dbos-tuned.burst_runs_per_s": 900, "peers.dbos-tuned.roundtrip_ms.64.p99": 120,
	} {
		if got, ok := f.Get(name); !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if facts := f.Facts(); facts["best_peer"] != "river-tuned" || facts["peers.dbos-tuned.version"] != "v1" {
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
