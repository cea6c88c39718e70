package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// served is a database in which an approval was asked for and given, and one is asked for, with the link of the latter.
func served(t *testing.T) (url, link string) {
	t.Helper()
	url = pgtest.URL(t)
	gate := launch(t, deployment(url), "serve", "--open-api", "--examples")
	for _, run := range []string{"trip-1", "trip-2"} {
		link = openLink(t, gate.url, run)
		if run == "trip-1" {
			call(t, http.StatusAccepted, "POST", gate.url+link[strings.Index(link, "/callbacks/"):], `{"approved":true,"reviewer":"hunter2"}`)
			call(t, http.StatusOK, "GET", gate.url+"/v1/runs/trip-1?wait=20s", "")
		}
	}
	gate.stop(t)
	return url, link
}

// The command needs nothing but the database, says what it has verified, and its exit code says what it found.
func TestVerifyExitCodes(t *testing.T) {
	t.Parallel()
	url, _ := served(t)
	env := map[string]string{"FLOWGATE_DATABASE_URL": url}
	verify := func(code int, args ...string) (stdout string) {
		t.Helper()
		stdout, stderr, err := runWith(t, env, append([]string{"verify"}, args...)...)
		if got := app.ExitCode(err); got != code || stderr != "" {
			t.Errorf("%v: exit code %d, want %d: error %v, on stderr %q", args, got, code, err, stderr)
		}
		return stdout
	}
	const good = "2 runs, 6 events verified, 0 differences\n"
	for _, tt := range []struct {
		code int
		says string
		args []string
	}{
		{0, good, nil},
		{0, good, []string{"--namespace", "default"}},
		{0, "0 runs, 0 events verified, 0 differences\n", []string{"--namespace", "absent"}},
		{0, "1 run, 4 events verified, 0 differences\n", []string{"--run", "trip-1"}},
		{0, `{"runs":2,"events":6,"differences":0,"listed":0}` + "\n", []string{"--json"}},
		{3, "", []string{"--run", "trip-3"}},
		{3, "", []string{"--run", "trip-1", "--namespace", "absent"}},
		{2, "", []string{"--run", " trip-1"}},
		{2, "", []string{"--namespace", "\n"}},
		{2, "", []string{"trip-1"}},
	} {
		if out := verify(tt.code, tt.args...); out != tt.says {
			t.Errorf("%v printed %q, want %q", tt.args, out, tt.says)
		}
	}

	execute(t, url, `update hooks set state = 'disposed', payload_digest = null, actor = 'eve'
		where run = (select id from runs where run_id = 'trip-1')`)
	const summary = "2 runs, 6 events verified, 3 differences\n"
	for _, line := range []string{
		`run "trip-1" of "default": hook "approval": state: events say "resumed", the row says "disposed"` + "\n",
		`run "trip-1" of "default": hook "approval": payload_digest: differs` + "\n",
		`run "trip-1" of "default": hook "approval": actor: events say nothing, the row says "eve"` + "\n",
		summary,
	} {
		if out := verify(8); !strings.Contains(out, line) || !strings.HasSuffix(out, summary) || strings.Count(out, "\n") != 4 {
			t.Errorf("printed %q, want %q in it", out, line)
		}
	}
	verify(0, "--run", "trip-2")
	wantJSON(t, verify(8, "--json", "--run", "trip-1"))
}

// wantJSON checks the differences above in JSON.
func wantJSON(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 || lines[3] != `{"runs":1,"events":4,"differences":3,"listed":3}` {
		t.Fatalf("printed %q", out)
	}
	for i, want := range []map[string]any{
		{"field": "state", "events": "resumed", "stored": "disposed"},
		{"field": "payload_digest", "text": "differs"},
		{"field": "actor", "events": "", "stored": "eve"},
	} {
		want["namespace"], want["run_id"], want["row"], want["id"] = "default", "trip-1", "hook", "approval"
		var got map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil || len(got) != len(want) {
			t.Errorf("line %q: %v", lines[i], err)
		}
		for member, value := range want {
			if got[member] != value {
				t.Errorf("line %q: %s is %v, want %v", lines[i], member, got[member], value)
			}
		}
	}
}

// Of very many differences the first are listed, all are counted.
func TestVerifyListsTheFirstDifferences(t *testing.T) {
	t.Parallel()
	url, _ := served(t)
	execute(t, url, `insert into signals (run, signal_id, name, digest, seq, received_at, source, actor)
		select id, 's' || i, 'x', sha256('x'), i, now(), '', '' from runs, generate_series(1, 150) i where run_id = 'trip-1'`)
	stdout, _, err := runWith(t, map[string]string{"FLOWGATE_DATABASE_URL": url}, "verify")
	found, _ := errors.AsType[*app.DifferencesError](err)
	if found == nil || found.Differences != 150 || found.Error() != "150 differences between events and rows" {
		t.Errorf("error %v", err)
	}
	if !strings.HasSuffix(stdout, "2 runs, 6 events verified, 150 differences, of which 100 are listed\n") || strings.Count(stdout, "\n") != 101 {
		t.Errorf("printed %d lines: %.200s", strings.Count(stdout, "\n"), stdout)
	}
}

// A verification that could not go to its end must not look like one that found nothing.
func TestVerifyThatEndsEarlyFails(t *testing.T) {
	t.Parallel()
	url, _ := served(t)
	getenv := func(name string) string { return map[string]string{"FLOWGATE_DATABASE_URL": url}[name] }
	stopped, stop := context.WithCancel(t.Context())
	stop()
	var out, log strings.Builder
	err := app.Run(stopped, []string{"verify"}, getenv, &out, &log, app.Examples(workflows.Each)...)
	if app.ExitCode(err) != 1 || out.String() != "" {
		t.Errorf("interrupted: error %v, output %q", err, out.String())
	}
	execute(t, url, "drop table goose_db_version")
	if _, _, err := runWith(t, map[string]string{"FLOWGATE_DATABASE_URL": url}, "verify"); app.ExitCode(err) != 1 || !strings.Contains(err.Error(), "flowgate migrate") {
		t.Errorf("an old schema: %v", err)
	}
	_, _, err = runWith(t, nowhere(), "verify")
	if app.ExitCode(err) != 1 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no server: %v", err)
	}
	if _, _, err = runWith(t, nil, "verify"); app.ExitCode(err) != 2 {
		t.Errorf("no database: %v", err)
	}
}

// Whatever is damaged, no token, digest, payload or metadata is printed.
func TestVerifyKeepsSecrets(t *testing.T) {
	t.Parallel()
	url, link := served(t)
	secrets := []string{link[strings.LastIndex(link, "/")+1:], "hunter2", "5365637265744d61726b65", "SecretMark"}
	execute(t, url, `update hooks set token_digest = sha256(token_digest), payload_digest = case when state = 'resumed' then 'SecretMark'::bytea end, nonce = 'SecretMark',
		metadata = metadata || '{"subject": "SecretMark", "data": {"a": "SecretMark"}, "labels": {"a": "SecretMark"}}'`)
	execute(t, url, `update runs set input_digest = 'SecretMarkSecretMarkSecretMark12', labels = '{"a": "SecretMark"}'`)
	execute(t, url, `update events set payload = '"SecretMark"' where payload is not null`)
	execute(t, url, `update events set data = '["SecretMark"]' where type = 'run.completed'`)
	for _, args := range [][]string{{"verify"}, {"verify", "--json"}} {
		stdout, stderr, err := runWith(t, map[string]string{"FLOWGATE_DATABASE_URL": url}, args...)
		if app.ExitCode(err) != 8 {
			t.Fatalf("error %v: %s", err, stdout)
		}
		for _, secret := range secrets {
			if strings.Contains(stdout+stderr+err.Error(), secret) {
				t.Errorf("%v printed a secret: %s", args, stdout)
			}
		}
	}
}
