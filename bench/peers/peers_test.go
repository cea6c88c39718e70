package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cschleiden/go-workflows/backend/history"
	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, nil) }

// play runs the program as the command line says, on a database of the test's own, and returns its report and what
// databases of peers it left behind.
func play(t *testing.T, args ...string) (report, []string) {
	t.Helper()
	url := pgtest.URL(t)
	o, err := parse(append([]string{"-database", url, "-json"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	var r report
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("more than one object is printed: %v", err)
	}
	return r, peerDatabases(t, url)
}

func peerDatabases(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select datname from pg_database where datname like 'peer\_%'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestEveryPeerDoesTheJob checks that each peer completes every run and has every figure; how good they are is no matter.
func TestEveryPeerDoesTheJob(t *testing.T) {
	r, left := play(t, "-runs", "20", "-trips", "3")
	if len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
	if len(r.Peers) != len(entries()) {
		t.Fatalf("%d peers are reported, want %d", len(r.Peers), len(entries()))
	}
	for i, e := range entries() {
		p := r.Peers[i]
		if p.Name != e.name || p.Error != "" {
			t.Errorf("%s: reported as %s: %s", e.name, p.Name, p.Error)
			continue
		}
		if p.Burst <= 0 || p.Park <= 0 || p.Receipt <= 0 || p.Note == "" {
			t.Errorf("%s: a figure is missing: %+v", p.Name, p)
		}
		for _, c := range inFlight {
			if trips := p.RoundTrip[level(c)]; trips.P50 <= 0 || trips.P99 < trips.P50 {
				t.Errorf("%s: %d in flight: %+v", p.Name, c, trips)
			}
		}
		checkCosts(t, e, p.costs, p.Note)
		if (p.Steps == nil) != e.queue {
			t.Errorf("%s: figures of steps: %v", p.Name, p.Steps)
		}
		if p.Steps != nil {
			checkLives(t, e, *p.Steps, p.Note)
		}
	}
}

func checkLives(t *testing.T, e entry, l lives, note string) {
	t.Helper()
	for _, c := range livesInFlight {
		if life := l.Life[level(c)]; l.PerSecond[level(c)] <= 0 || life.P50 <= 0 || life.P99 < life.P50 {
			t.Errorf("%s: %d runs of steps in flight: %+v", e.name, c, l)
		}
	}
	checkCosts(t, e, l.costs, note)
}

// checkCosts: no peer completes a run with less than one commit, nor writes less than the payload.
func checkCosts(t *testing.T, e entry, c costs, note string) {
	t.Helper()
	if e.embedded {
		if c.WAL != nil || c.Commits != nil || !strings.Contains(note, "SQLITE") {
			t.Errorf("%s: figures of the server's, or no word about SQLite: %s, %s", e.name, c, note)
		}
		return
	}
	if c.WAL == nil || *c.WAL < 200 || c.Commits == nil || *c.Commits < 1 {
		t.Errorf("%s: CPU, WAL and commits %s", e.name, c)
	}
}

// TestARunThatEndsWithSomethingElseHasFailed: what a peer hands from step to step is looked at in the end.
func TestARunThatEndsWithSomethingElseHasFailed(t *testing.T) {
	other := order
	other.Amount++
	if order.check() != nil || other.check() == nil {
		t.Error("another payload passes")
	}
	for text, right := range map[string]bool{
		`{"order":"ord_2026_0000004711"}`: false, `nothing`: false,
		`{"order":"ord_2026_0000004711","decision":"approved","amount":129900,"by":"reviewer@example.com","note":"` + order.Note + `"}`: true,
	} {
		err := outcome([]*history.Event{{Attributes: &history.ExecutionCompletedAttributes{Result: []byte(text)}}})
		if (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestVersionsAreThoseOfTheBuild keeps the versions of the report from being a copy that grows old.
func TestVersionsAreThoseOfTheBuild(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries() {
		if v := e.version(); v == "" || !strings.Contains(string(text), "\t"+e.module+" "+v+"\n") {
			t.Errorf("%s: version %q of %s is not that of go.mod", e.name, v, e.module)
		}
	}
}

// TestOnePeerThatFailsStopsNoOther: a peer without time is reported, with a reason, and the next one too.
func TestOnePeerThatFailsStopsNoOther(t *testing.T) {
	r, left := play(t, "-only", "river,dbos", "-runs", "100000", "-timeout", "3s")
	if len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
	if len(r.Peers) != 2 {
		t.Fatalf("%d peers are reported, want 2", len(r.Peers))
	}
	for _, p := range r.Peers {
		if p.Error == "" || p.Version == "" || p.Burst != 0 {
			t.Errorf("%+v", p)
		}
	}
}

func TestPayloadHas200Bytes(t *testing.T) {
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) != 200 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestCommandLineIsChecked(t *testing.T) {
	for _, args := range []string{
		"", "-database=x -runs=0", "-database=x -runs=100001", "-database=x -trips=0", "-database=x -timeout=0s", "-database=x -jobs=steps,walk", "-database=x y",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if _, err := choose([]string{"dbos", "camunda"}); err == nil || !strings.Contains(err.Error(), "camunda") {
		t.Errorf("an unknown peer: %v", err)
	}
}

func TestPercentilesAreNearestRank(t *testing.T) {
	var times latencies
	for ms := range 200 {
		times = append(times, time.Duration(ms+1)*time.Millisecond)
	}
	slices.Reverse(times)
	if got, want := times.percentiles(), (percentiles{P50: 100, P95: 190, P99: 198}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestBoardTellsASecondEnd: a peer that completes a run twice has failed at it.
func TestBoardTellsASecondEnd(t *testing.T) {
	b := newBoard()
	b.parked("a")
	b.parked("a")
	b.ended("a", nil)
	if err := b.check(); err != nil {
		t.Fatal(err)
	}
	b.ended("a", nil)
	if _, err := b.awaitEnd(t.Context(), "a"); err == nil || b.check() == nil {
		t.Error("a second end is not told")
	}
}
