package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/bench/internal/report"
)

func some() *report.Figures {
	f := &report.Figures{}
	for _, v := range []float64{20_000, 9000, 10_000} {
		f.Add("insert_commit_per_s", v)
	}
	f.Add("burst_runs_per_s", 5000)
	f.Add("park_per_s", 5999)
	f.Add("wal_bytes_per_run", 1700.123456)
	f.Add("turn_us_by_history.10", 500)
	f.Add("turn_us_by_history.1000", 655)
	f.Add("roundtrip_ms_p50_c64", 10)
	f.Add("peers.dbos-tuned.roundtrip_ms.64.p50", 60)
	f.Add("peers.dbos-default.roundtrip_ms.64.p50", 49)
	f.Add("peers.river.roundtrip_ms.64.p50", 1)
	f.State("postgres.fsync", "on")
	f.Note("said %s", "once")
	f.Note("said %s", "once")
	f.LeaveOut("idle", "no time")
	return f
}

func TestAFigureIsTheMedianOfItsSamples(t *testing.T) {
	t.Parallel()
	f := some()
	if v, ok := f.Get("insert_commit_per_s"); !ok || v != 10_000 {
		t.Errorf("got %v", v)
	}
	if least, most := f.Span("insert_commit_per_s"); least != 9000 || most != 20_000 {
		t.Errorf("from %v to %v", least, most)
	}
	if _, ok := f.Get("nothing"); ok {
		t.Error("a figure without samples")
	}
	if v, ok := f.Ratio("burst_runs_per_s", "insert_commit_per_s"); !ok || v != 0.5 {
		t.Errorf("ratio %v", v)
	}
	if _, ok := f.Ratio("burst_runs_per_s", "nothing"); ok {
		t.Error("a ratio to nothing")
	}
}

func TestARatioIsTakenWithinARepetition(t *testing.T) {
	t.Parallel()
	f := &report.Figures{}
	for _, pair := range [][2]float64{{100, 50}, {10, 4}, {90, 30}} { // the machine was slow meanwhile
		f.Repeat()
		f.Add("base", pair[0])
		f.Add("name", pair[1]-1)
		f.Add("name", pair[1]+1)
	}
	f.Repeat()
	f.Add("other", 200)
	if v, ok := f.Ratio("name", "base"); !ok || v != 0.4 {
		t.Errorf("got %v", v)
	}
	if v, ok := f.Ratio("other", "base"); !ok || v != 200.0/90 {
		t.Errorf("without a repetition in common: %v", v)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	f := some()
	got := map[string][3]any{}
	for _, target := range report.Targets {
		if v, ok := target.Value(f); ok {
			got[target.Name] = [3]any{v, target.Met(v), target.Aimed(v)}
		}
	}
	want := map[string][3]any{
		"burst over raw inserts":                  {0.5, true, false},
		"start and park over raw inserts":         {0.5999, false, false},
		"WAL bytes per signalled run":             {1700.123456, true, true},
		"warm resume after 1,000 over after 10":   {1.31, false, false},
		"round trip p50, 64 in flight, over DBOS": {10.0 / 49, false, false}, // the better one of both
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The peers' figures of three steps have names that end like those of the signalled run.
func TestFiguresOfStepsAreApart(t *testing.T) {
	t.Parallel()
	f := &report.Figures{}
	f.Add("cpu_ms_per_run", 1)
	f.Add("peers.dbos.cpu_ms_per_run", 10)
	f.Add("peers.river.cpu_ms_per_run", 7)
	f.Add("three_steps_cpu_ms_per_run", 1)
	f.Add("three_steps_per_s_c64", 3000)
	f.Add("three_steps_ms_p50_c1", 2)
	f.Add("peers.dbos.three_steps.cpu_ms_per_run", 4)
	f.Add("peers.dbos.three_steps.per_s.64", 600)
	f.Add("peers.dbos.three_steps.ms.1.p50", 3)
	got := map[string]float64{}
	for _, target := range report.Targets {
		if v, ok := target.Value(f); ok {
			got[target.Name] = v
		}
	}
	want := map[string]float64{
		"CPU per signalled run over DBOS": 0.1, "CPU per three-step run over DBOS": 0.25,
		"three-step run p50, 1 in flight, over the fastest peer": 2.0 / 3,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	var out bytes.Buffer
	if err := f.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	_, steps, found := strings.Cut(text, "our runs/s at 64 over it ")
	if want := "this engine - 2.00 - 3,000 - - 1.00 - - dbos - 3.00 - 600 - - 4.00 - - 5.00 x Targets"; !found || !strings.HasPrefix(steps, want) {
		t.Errorf("not %q in\n%s", want, out.String())
	}
}

func TestALongHistoryStandsBesideTheShortest(t *testing.T) {
	t.Parallel()
	f := &report.Figures{}
	for events, ms := range map[string]float64{"10": 2, "90": 3, "1000": 5} {
		f.Add("settled_cold_ms_by_events."+events, ms)
	}
	var out bytes.Buffer
	if err := f.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	want := "settled_cold_ms_by_events.10 2.00 settled_cold_ms_by_events.1000 5.00 2.50 x the shortest settled_cold_ms_by_events.90 3.00 1.50 x the shortest"
	if !strings.HasSuffix(text, want) {
		t.Errorf("%s, not %s", text, want)
	}
}

func TestJSONIsOneObjectWithNestedNames(t *testing.T) {
	t.Parallel()
	f := some()
	f.Fail("burst", errors.New("one run is missing"))
	var out bytes.Buffer
	if err := f.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var object struct {
		Inserts float64              `json:"insert_commit_per_s"`
		WAL     float64              `json:"wal_bytes_per_run"`
		Turn    map[string]float64   `json:"turn_us_by_history"`
		Spread  map[string][]float64 `json:"spread"`
		Facts   map[string]string    `json:"facts"`
		Notes   []string             `json:"notes"`
		Failed  []string             `json:"checks_failed"`
		Left    []string             `json:"left_out"`
		Peers   map[string]struct {
			Trips map[string]map[string]float64 `json:"roundtrip_ms"`
		} `json:"peers"`
		Targets []struct {
			Name string  `json:"name"`
			Must float64 `json:"must"`
			Met  bool    `json:"met"`
		} `json:"targets"`
	}
	if err := json.Unmarshal(out.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	if object.Inserts != 10_000 || object.WAL != 1700.1 || !reflect.DeepEqual(object.Turn, map[string]float64{"10": 500, "1000": 655}) {
		t.Errorf("figures: %s", out.Bytes())
	}
	if !reflect.DeepEqual(object.Spread, map[string][]float64{"insert_commit_per_s": {9000, 20_000}}) {
		t.Errorf("spread %v", object.Spread)
	}
	if object.Peers["dbos-tuned"].Trips["64"]["p50"] != 60 || object.Facts["postgres.fsync"] != "on" {
		t.Errorf("peers %v, facts %v", object.Peers, object.Facts)
	}
	if len(object.Notes) != 1 || len(object.Failed) != 1 || len(object.Left) != 1 || len(object.Targets) != 5 || object.Targets[0].Must != 0.45 || !object.Targets[0].Met {
		t.Errorf("remarks: %s", out.Bytes())
	}
}

func TestTheTableTellsEveryFigureOnceWithItsRatios(t *testing.T) {
	t.Parallel()
	f := some()
	f.Fail("burst", errors.New("one run is missing"))
	var out bytes.Buffer
	if err := f.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"insert_commit_per_s 10,000 [9,000 .. 20,000]",
		"burst_runs_per_s 5,000 0.50 x raw",
		"burst over raw inserts 0.50 at least 0.45 met",
		"start and park over raw inserts 0.60 at least 0.60 MISSED",
		"WAL bytes per signalled run 1,700 at most 2,500 met, also what it aims at",
		"this engine 5,000 5,999 - - - - 10.0 - - - 1,700 -",
		"dbos-tuned - - - - - - 60.0 - - - - - -",
		"Left out idle: no time",
		"WRONG burst: one run is missing",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out.String())
		}
	}
	for _, name := range f.Names("") {
		if !strings.HasPrefix(name, "peers.") && strings.Count(out.String(), " "+name+" ") != 1 {
			t.Errorf("%s is not told once:\n%s", name, out.String())
		}
	}
}
