package app_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// deployment is the settings of processes that share a database.
func deployment(databaseURL string) map[string]string {
	return map[string]string{
		"FLOWGATE_DATABASE_URL": databaseURL,
		"FLOWGATE_PUBLIC_URL":   "https://gate.example.com/base",
		"FLOWGATE_MINT_KEYS":    key("m1", 32),
		"FLOWGATE_DIGEST_KEYS":  key("d1", 33),
		"FLOWGATE_SIGN_KEYS":    key("s1", 32),
		"FLOWGATE_LISTEN":       "127.0.0.1:0",
		"FLOWGATE_ADMIN_LISTEN": "127.0.0.1:0",
		"FLOWGATE_LOG_FORMAT":   "json",
	}
}

// A gateway without code accepts and answers; a worker without gateway moves the run on.
func TestServeAcceptsAndWorkerAdvances(t *testing.T) {
	t.Parallel()
	env := deployment(pgtest.URL(t))
	first := launch(t, env, "worker", "--examples") // stores the specs
	first.stop(t)
	gate := launch(t, env, "serve", "--open-api")

	const run, signal = "/v1/runs/invoice-1", "/v1/runs/invoice-1/signals/invoice.approved?idempotency_key=s1"
	call(t, http.StatusCreated, "POST", gate.url+"/v1/runs", `{"workflow":"billing.invoice-approval","run_id":"invoice-1"}`)
	call(t, http.StatusAccepted, "POST", gate.url+signal, `{"reviewer":"ada"}`)
	call(t, http.StatusUnprocessableEntity, "POST", gate.url+signal+"2", `{"reviewer":7}`)
	if r := call(t, http.StatusOK, "GET", gate.url+run, ""); r.text("status") != "running" || r.text("blocked_reason") == "" {
		t.Errorf("run %v, want it to wait for a worker", r.body)
	}

	worker := launch(t, env, "worker", "--examples")
	if worker.url != "" {
		t.Errorf("the worker listens at %s", worker.url)
	}
	if r := call(t, http.StatusOK, "GET", gate.url+run+"?wait=20s", ""); r.text("status") != "completed" {
		t.Errorf("run %v, want it completed", r.body)
	}
	if r := call(t, http.StatusAccepted, "POST", gate.url+signal, `{"reviewer":"ada"}`); r.text("verdict") != "duplicate" {
		t.Errorf("repeat %v, want a duplicate", r.body)
	}
	got := openLink(t, gate.url, "trip-1")
	if !strings.HasPrefix(got, "https://gate.example.com/base/callbacks/") {
		t.Errorf("the link does not begin with the public URL")
	}
	worker.stop(t)
	gate.stop(t)
	if all := gate.logged() + worker.logged(); strings.Contains(all, "fhk_") {
		t.Error("a token was logged")
	}
}

func TestServeIsClosedUnlessOpened(t *testing.T) {
	t.Parallel()
	gate := launch(t, deployment(pgtest.URL(t)), "serve", "--examples")
	call(t, http.StatusUnauthorized, "GET", gate.url+"/v1/workflows", "")
	call(t, http.StatusUnauthorized, "POST", gate.url+"/v1/runs", `{"workflow":"collect","input":{"count":0}}`)
	call(t, http.StatusNotFound, "POST", gate.url+"/callbacks/flow/hooks/none", `{}`)
	if strings.Contains(gate.logged(), "IS OPEN") {
		t.Error("the log says that the API is open")
	}
	gate.stop(t)
}

// A database that is behind is not migrated by the way, and whoever finds it says what to do.
func TestServeRefusesAnOldSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for _, ageing := range []struct{ to, by string }{
		{"an older one", "delete from goose_db_version where version_id > 0"},
		{"one without versions", "delete from goose_db_version"},
		{"none", "drop table goose_db_version"},
	} {
		execute(t, url, ageing.by)
		for _, args := range [][]string{{"serve"}, {"worker", "--examples"}} {
			_, _, err := runWith(t, deployment(url), args...)
			if err == nil || !strings.Contains(err.Error(), "flowgate migrate") {
				t.Errorf("%s, %s: error %v, want the way out", ageing.to, args[0], err)
			}
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	execute(t, url, "drop schema public cascade")
	execute(t, url, "create schema public")
	for range 2 { // it is idempotent
		stdout, _, err := runWith(t, deployment(url), "migrate")
		if err != nil || stdout == "" {
			t.Fatalf("error %v, output %q", err, stdout)
		}
	}
	launch(t, deployment(url), "serve").stop(t)
}

// Two processes with different keys under one ID would make each other's links unknown.
func TestServeRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	env := deployment(pgtest.URL(t))
	launch(t, env, "serve").stop(t)
	env["FLOWGATE_MINT_KEYS"] = key("m1", 48)
	if _, _, err := runWith(t, env, "serve"); err == nil || !strings.Contains(err.Error(), "m1") {
		t.Errorf("error %v, want the refusal of key m1", err)
	}
}

// The first signal waits for who is being served; the second one does not.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	env := deployment(url)
	launch(t, env, "worker", "--examples").stop(t)
	gate := launch(t, env, "serve", "--open-api")
	call(t, http.StatusCreated, "POST", gate.url+"/v1/runs", collector)
	held := holdRun(t, url, "c1")
	cut := make(chan error, 1)
	go func() {
		_, err := try("POST", gate.url+signalPath("c1", "s1"), "1")
		cut <- err
	}()
	eventually(t, "a signal that waits", held.waitedFor)
	gate.signal(t, syscall.SIGTERM)
	eventually(t, "the drain", func() bool { return draining(gate) })
	gate.signal(t, syscall.SIGTERM)
	gate.wantExit(t, -1) // by the signal
	if err := <-cut; err == nil {
		t.Error("the request that was under way was answered")
	}
}

func draining(p *program) bool {
	r, err := try("GET", p.admin+"/readyz", "")
	return err == nil && r.status == http.StatusServiceUnavailable
}

// held is a run that nobody else can change.
type held struct {
	ctx context.Context
	tx  pgx.Tx
}

// holdRun locks the row of a run until release, or the end of the test.
func holdRun(t *testing.T, url, run string) held {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from runs where run_id = $1 for update", run); err != nil {
		t.Fatal(err)
	}
	return held{t.Context(), tx}
}

// waitedFor says whether another transaction waits for a lock, in this database that is the test's own.
func (h held) waitedFor() bool {
	// A transaction sees the activity of its first look until it asks for another one.
	if _, err := h.tx.Exec(h.ctx, "select pg_stat_clear_snapshot()"); err != nil {
		return false
	}
	var waiting int
	err := h.tx.QueryRow(h.ctx, `select count(*) from pg_stat_activity
		where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
	return err == nil && waiting > 0
}

func (h held) release(t *testing.T) {
	t.Helper()
	if err := h.tx.Commit(h.ctx); err != nil {
		t.Fatal(err)
	}
}

// execute runs one statement.
func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
