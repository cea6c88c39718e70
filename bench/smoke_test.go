package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/bench/internal/measure"
	"github.com/flowgate-go/flowgate/examples/workflows"
)

// tiny makes every measurement in a few seconds. Its figures say nothing.
var tiny = measure.Sizes{
	Raw: 20 * time.Millisecond, Floor: 200, FloorAlone: 10, Trips: map[int]int{1: 4, 16: 32, 64: 64}, Steps: map[int]int{1: 4, 64: 64}, Burst: 200, Bursts: 1, Hooks: 100,
	Steady: 50 * time.Millisecond, Histories: []int{1, 2, 5, 100}, Events: []int{4, 10, 100}, Samples: 3, Sequences: 1, Cold: 1, Idle: []int{50, 100},
	IdleFor: 100 * time.Millisecond, Pairs: 1, Small: 50,
}

// promised are the names that readers of the JSON rely on.
var promised = []string{
	"insert_commit_per_s", "insert_commit_ms_p50_c1", "floor_two_commit_per_s", "floor_two_commit_ms_p50", "floor_history_per_s",
	"park_per_s", "burst_runs_per_s", "hook_http_runs_per_s", "steady_per_s", "roundtrip_ms_p50_c1", "receipt_ms_p50_c1",
	"roundtrip_ms_p50_c64", "roundtrip_ms_p99_c64", "roundtrip_ms_p95_c16", "fan_in_per_s", "commits_per_run",
	"wal_bytes_per_run", "rows_inserted_per_run", "cpu_ms_per_run", "sequential_1000_over_100", "idle_cpu_share",
	"direct_ms_p50_c1", "child_per_s_c64", "three_steps_per_s_c1", "three_steps_per_s_c64", "three_steps_ms_p99_c64",
	"three_steps_commits_per_run", "three_steps_wal_bytes_per_run", "three_steps_cpu_ms_per_run", "three_steps_rows_inserted_per_run",
	"took_s",
}

func TestEveryMeasurementIsMadeAndToldAsOneObject(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"--json", "--repeat", "1"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	o.sizes = tiny
	var out bytes.Buffer
	if err := execute(t.Context(), o, &out, t.Output()); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
	object := oneObject(t, out.Bytes())
	for _, name := range promised {
		if value, ok := object[name].(float64); !ok || value <= 0 {
			t.Errorf("%s is %v", name, object[name])
		}
	}
	for _, name := range []string{"turn_us_by_history", "cold_ms_by_history"} {
		for _, history := range []string{"1", "2", "5", "100"} {
			if value, ok := at(object, name, history).(float64); !ok || value <= 0 {
				t.Errorf("%s after %s is %v", name, history, value)
			}
		}
	}
	for _, name := range []string{"settled_turn_us_by_events", "settled_cold_ms_by_events", "settled_step_us_by_events"} {
		for _, events := range []string{"4", "10", "100"} {
			if value, ok := at(object, name, events).(float64); !ok || value <= 0 {
				t.Errorf("%s %s is %v", name, events, value)
			}
		}
	}
	for _, idle := range []any{object["idle_queries_per_s"], at(object, "idle_by_parked", "100", "statements_per_s")} {
		if value, ok := idle.(float64); !ok || value < 0 {
			t.Errorf("idle: %v", idle)
		}
	}
	if left := object["left_out"].([]any); len(left) > 0 {
		t.Errorf("left out: %v", left)
	}
	if got := at(object, "facts", "postgres.fsync"); got != "on" {
		t.Errorf("fsync is %v", got)
	}
}

func TestAServiceIsLoadedByURL(t *testing.T) {
	t.Parallel()
	i, err := app.Start(t.Context(), app.Local{Registrations: app.Examples(workflows.Each)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	o, err := parse([]string{"-url", i.URL(), "-runs", "30", "-clients", "4", "-json"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := execute(t.Context(), o, &out, t.Output()); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
	object := oneObject(t, out.Bytes())
	for _, name := range []string{
		"http_start_per_s", "http_park_per_s", "http_signal_per_s", "http_runs_per_s", "http_receipt_ms_p50_c1",
		"http_roundtrip_ms_p99_c4",
	} {
		if value, ok := object[name].(float64); !ok || value <= 0 {
			t.Errorf("%s is %v", name, object[name])
		}
	}

	// Runs that do not complete are no figure.
	o.remote.Workflow, o.remote.Signals = "collect", "item"
	out.Reset()
	if err := execute(t.Context(), o, &out, t.Output()); err == nil {
		t.Error("a workflow that refuses its input passed")
	}
	if failed := oneObject(t, out.Bytes())["checks_failed"].([]any); len(failed) != 1 {
		t.Errorf("failed: %v", failed)
	}
}

func oneObject(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&object); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if d.More() {
		t.Errorf("more than one value in %q", text)
	}
	return object
}

// at looks into nested objects.
func at(object map[string]any, path ...string) any {
	var value any = object
	for _, name := range path {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}

func TestParse(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"-only nothing":                       "only raw",
		"-repeat 21":                          "1 to 20",
		"-repeat -1":                          "1 to 20",
		"now":                                 "no arguments",
		"-url https://localhost:1":            "http://host:port",
		"-url http://localhost:1/path":        "http://host:port",
		"-url http://example.org":             "not this machine",
		"-url http://localhost -runs 0":       "-runs",
		"-url http://localhost -clients 1000": "-clients",
		"-url http://localhost -signal ,":     "-signal",
		"-url http://[::1]:1 -payload nofile": "-payload",
	} {
		if _, err := parse(strings.Fields(args), t.Output()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
	o, err := parse([]string{"-quick", "--json", "-only", "raw, burst"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if !o.quick || !o.json || o.repeat != 1 || !o.wants("raw") || !o.wants("burst") || o.wants("idle") || o.bound() > 50*time.Second {
		t.Errorf("got %+v", o)
	}
	for _, args := range []string{"-url http://localhost:8080", "-url http://127.0.0.1", "-url http://example.org -foreign"} {
		if _, err := parse(strings.Fields(args), t.Output()); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}
