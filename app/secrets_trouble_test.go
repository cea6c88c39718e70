package app_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// misbehave has workflow code give away what it knows, in every way.
func (v *vault) misbehave() {
	v.t.Helper()
	ends := map[string]string{"fail": "failed", "complete": "completed"}
	runs := map[string]string{}
	for mode := range authors {
		run := "author-" + mark(base62, 20)
		runs[mode] = run
		v.search.add(control, run)
		v.instruct(run, mode)
	}
	for mode, run := range runs {
		want := ends[mode]
		if want == "" {
			want = "blocked"
		}
		eventually(v.t, mode+" is "+want, func() bool {
			r, err := try("GET", v.api("/v1/runs/"+run), "")
			return err == nil && r.text("status") == want
		})
		v.readRun(run)
	}
}

// instruct starts a run of the careless author and tells it what not to tell.
func (v *vault) instruct(run, mode string) {
	v.t.Helper()
	v.start(fmt.Sprintf(`{"workflow":"leak.author","run_id":%q,"input":{"mode":%q}}`, run, mode))
	word, digits := "said"+mark(base62, 20), mark("123456789", 24)
	v.search.add(accepted, word)
	v.search.addWhole(accepted, digits)
	v.search.add(bearer, strings.TrimPrefix(strayToken(run), "fhk_"))
	v.search.add(bearer, hostToken(run, ""))
	v.search.add(authored, authoredMark(run))
	call(v.t, http.StatusAccepted, "POST", v.api("/v1/runs/"+run+"/signals/go?idempotency_key=g"),
		fmt.Sprintf(`{"mark":%q,"n":%s}`, word, digits))
}

// readRun keeps what is shown to whom may read a run.
func (v *vault) readRun(run string) {
	requests := raw("GET", "/v1/runs/"+run, "") + raw("GET", "/v1/runs/"+run+"/history?limit=200", "", "Connection: close")
	v.keep("answers to who may read the run", v.talk(v.gate.url, requests), accepted, authored)
}

// refuseRows are ways in which the database refuses a row and repeats it.
var refuseRows = []struct{ do, undo string }{
	{
		`create function refuse() returns trigger language plpgsql as $$ begin
			raise exception 'refused: % %', convert_from(new.payload, 'UTF8'), new using detail = new::text, hint = new.payload::text;
		end $$;
		create trigger refuse before insert on events for each row
		when (new.payload is not null and new.type <> 'run.started') execute function refuse()`,
		`drop trigger refuse on events; drop function refuse()`,
	},
	{
		`alter table events add constraint refuse check (payload is null or type = 'run.started') not valid`,
		`alter table events drop constraint refuse`,
	},
	{ // at the commit
		`create function refuse() returns trigger language plpgsql as $$ begin
			raise exception 'refused: %', convert_from(new.payload, 'UTF8');
		end $$;
		create constraint trigger refuse after insert on events deferrable initially deferred for each row
		when (new.payload is not null and new.type <> 'run.started') execute function refuse()`,
		`drop trigger refuse on events; drop function refuse()`,
	},
}

// trouble answers hooks while the database refuses rows, cuts connections and stops. Every answer is accepted in the end.
func (v *vault) trouble(done []use) {
	v.t.Helper()
	run := "trouble-" + mark(base62, 20)
	v.search.add(control, run)
	v.start(fmt.Sprintf(`{"workflow":"leak.doors","run_id":%q,"input":{"count":20,"kind":"answer"}}`, run))
	var uses []use
	eventually(v.t, "the hooks for trouble", func() bool {
		var n int
		err := v.conn.QueryRow(v.t.Context(), "select count(*) from hooks").Scan(&n)
		return err == nil && n == len(done)+20
	})
	uses = v.readHooks(len(done))
	for i, rows := range refuseRows {
		u := uses[i]
		v.sql(rows.do)
		if answer := v.answer(u); !strings.HasPrefix(answer, "HTTP/1.1 5") {
			v.t.Errorf("refused row %d: answer %.12q, want a fault", i, answer)
		}
		v.failTurn()
		v.sql(rows.undo)
	}
	var cutting sync.WaitGroup
	for _, u := range uses[:15] {
		cutting.Go(func() { v.insist(u) })
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		v.sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'")
	}
	cutting.Wait()
	v.stopServer(uses[15:18])
}

// failTurn completes a run while its output is refused: the turn fails, not the message before it.
func (v *vault) failTurn() {
	v.t.Helper()
	run := "failing-" + mark(base62, 20)
	v.search.add(control, run)
	v.search.add(accepted, outputMark(run))
	v.start(fmt.Sprintf(`{"workflow":"leak.doors","run_id":%q,"input":{"count":0,"kind":%q}}`, run, toComplete))
	eventually(v.t, "a failed turn", func() bool {
		r, err := try("GET", v.api("/v1/runs/"+run), "")
		return err == nil && r.text("status") == "blocked"
	})
	v.readRun(run)
}

// answer sends the answer of a hook once.
func (v *vault) answer(u use) string {
	answer := v.talk(v.gate.url, raw("POST", u.path(), u.answer(), "Connection: close"))
	v.keep("answers", answer)
	return answer
}

// insist sends the answer of a hook until it is accepted.
func (v *vault) insist(u use) {
	var last string
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for ; !strings.HasPrefix(last, "HTTP/1.1 202"); <-tick.C {
		if time.Now().After(deadline) {
			v.t.Errorf("an answer was never accepted: %.100q", last)
			return
		}
		last = v.answer(u)
	}
}

func (v *vault) stopServer(uses []use) {
	v.t.Helper()
	var stopping sync.WaitGroup
	for _, u := range uses {
		stopping.Go(func() { v.insist(u) })
	}
	if err := v.server.Stop(); err != nil {
		v.t.Fatal(err)
	}
	eventually(v.t, "the gateway notices", func() bool {
		return strings.HasPrefix(v.answer(uses[0]), "HTTP/1.1 503")
	})
	v.server = pgtest.Restart(v.t, v.server)
	v.connect()
	stopping.Wait()
}

// watchStatements keeps what the database shows of running statements, until the returned function is called.
func (v *vault) watchStatements() (stop func()) {
	var over atomic.Bool
	url := v.server.URL()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var conn *pgx.Conn
		for ; !over.Load(); <-tick.C {
			if conn == nil || conn.IsClosed() {
				conn, _ = pgx.Connect(v.t.Context(), url) // it is stopped now and then
				continue
			}
			rows, _ := conn.Query(v.t.Context(), "select distinct query from pg_stat_activity")
			if queries, err := pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
				v.keep("running statements", strings.Join(queries, "\n"))
			}
		}
		if conn != nil {
			_ = conn.Close(v.t.Context())
		}
	}()
	return func() { over.Store(true); <-ended }
}

// commands runs commands with secrets where they do not belong.
func (v *vault) commands(u use) {
	v.t.Helper()
	password := mark(base62, 32)
	v.search.add(bearer, password)
	v.search.addWhole(control, "flowgate --help")
	for _, c := range []struct{ setting, value, args string }{
		{"FLOWGATE_TOKEN", u.token, "retry r --url http://127.0.0.1:1/" + u.token},
		{"FLOWGATE_TOKEN", u.token, "retry r --url " + u.token},
		{"FLOWGATE_URL", v.api(""), "retry " + u.token},
		{"FLOWGATE_TOKEN", u.token, "serve " + u.token},
		{"FLOWGATE_TOKEN", u.token, "serve --" + u.token},
		{"FLOWGATE_TOKEN", u.token, u.token},
		{"FLOWGATE_DATABASE_URL", "postgres://u:" + password + "@127.0.0.1:1/x", "serve"},
		{"FLOWGATE_DATABASE_URL", "postgres://u:" + password + "@%zz", "migrate"},
		{"FLOWGATE_MINT_KEYS", "k1:" + password + "!", "serve"},
		{"FLOWGATE_DIGEST_KEYS", password, "serve"},
		{"FLOWGATE_MINT_KEYS", password + ":azE=", "serve"},
		{"FLOWGATE_PUBLIC_URL", "https://u:" + password + "@h", "serve"},
		{"FLOWGATE_LOG_LEVEL", password, "serve"},
		{"FLOWGATE_LISTEN", password, "serve"},
	} {
		cmd := exec.CommandContext(v.t.Context(), os.Args[0], strings.Fields(c.args)...)
		cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()}
		for name, value := range v.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, c.setting+"="+c.value)
		said, err := cmd.CombinedOutput()
		if err == nil {
			v.t.Errorf("%s with a misplaced secret succeeds", c.setting)
		}
		v.keep("what commands say", string(said))
	}
}

// crash ends a process in the middle of answers: a dump of its goroutines is what it leaves.
func (v *vault) crash(after int) {
	v.t.Helper()
	uses := v.readHooks(after)[18:]
	held := holdRun(v.t, v.server.URL(), uses[0].run)
	var cut sync.WaitGroup
	for _, u := range uses {
		cut.Go(func() { v.answer(u) })
	}
	eventually(v.t, "answers under way", held.waitedFor)
	v.gate.signal(v.t, syscall.SIGQUIT)
	<-v.gate.ended
	if !strings.Contains(v.gate.logged(), "goroutine ") {
		v.t.Error("the process left no dump of its goroutines")
	}
	held.release(v.t)
	cut.Wait()
	v.closed.stop(v.t)
	for _, p := range []*leaky{v.gate, v.closed} {
		v.keep("what the processes say", p.logged()+p.stdout.String())
	}
}
