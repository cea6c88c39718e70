package db

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// impatient is a pool whose connections look for a deadlock after 10 ms of waiting, before any time-out ends the wait.
func (r *acceptRig) impatient() *pgxpool.Pool {
	r.t.Helper()
	cfg := r.pool.Config()
	cfg.ConnConfig.RuntimeParams["deadlock_timeout"] = "10ms"
	cfg.ConnConfig.RuntimeParams["application_name"] = "impatient"
	pool, err := pgxpool.NewWithConfig(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(pool.Close)
	return pool
}

// noDeadlock asks the server how many deadlocks it ended in this database. Connections report when they end, so those of
// the pools are closed first.
func (r *acceptRig) noDeadlock(pools ...*pgxpool.Pool) {
	r.t.Helper()
	for _, pool := range pools {
		pool.Close()
	}
	r.until("the connections have ended", func() bool {
		return value[int](r, `select count(*) from pg_stat_activity where application_name = 'impatient' and datname = current_database()`) == 0
	})
	if n := value[int](r, `select deadlocks from pg_stat_database where datname = current_database()`); n != 0 {
		r.t.Errorf("%d deadlocks", n)
	}
}

// crossing wants a token that is taken, and its first one; once it knows that the other is taken it wants a second one too.
func crossing(first, second string) author {
	return func(s *history.State) history.Decision {
		all := []history.Command{hookOn("lost", "lost"), hookOn("first", first), wait("w")}
		if s.Hook("lost").Rejected != nil {
			all = append(all, hookOn("second", second))
		}
		return decide(all...)
	}
}

// side is one of several dispatchers, which takes turns of runs of a version.
type side struct {
	*Store
	version string
	meet    func() // waits for the other side
	limit   int
}

// advanceAll takes turns of its runs until it finds none due. Where a turn is decided again it may meet another side: from
// there on each of them wants what the other had.
func (d side) advanceAll(t *testing.T, code func(history.Run) author) {
	a := Advance{Codes: []Code{{Workflow: "invoice", Version: d.version}}, Limit: d.limit}
	a.Decide = func(run history.Run, s *history.State, now time.Time, rejected map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		if len(rejected) > 0 {
			d.meet()
		}
		return decideBy(code(run))(run, s, now, rejected)
	}
	for {
		done, err := d.Advance(t.Context(), a)
		if err != nil || len(done.Failed) > 0 {
			t.Errorf("version %s: %+v %v", d.version, done, err)
		}
		if err != nil || done.Claimed == 0 {
			return
		}
	}
}

// Two transactions of several runs have tokens, and each wants those of the other when its turns are decided again. None
// of our own transactions is ever the victim of a deadlock.
func TestTokensWantedCrosswiseWhenTurnsAreDecidedAgain(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("owner"))
	r.advance(by(opens("h", "lost")))
	pools := []*pgxpool.Pool{r.impatient(), r.impatient()}
	stores := []*Store{r.open(pools[0]), r.open(pools[1])}
	const runs = 3
	for round := range 15 {
		var ids []string
		for i := range 2 * runs {
			m := r.startOf(fmt.Sprintf("r%d-%d", round, i))
			m.Version = fmt.Sprint("side", i%2)
			r.ok(m)
			ids = append(ids, string(m.Run.RunID))
		}
		code := func(run history.Run) author {
			var i int
			if _, err := fmt.Sscanf(string(run.Key.RunID), fmt.Sprintf("r%d-%%d", round), &i); err != nil {
				t.Error(err)
			}
			tokens := [2]string{fmt.Sprintf("x%d-%d", round, i/2), fmt.Sprintf("y%d-%d", round, i/2)}
			return crossing(tokens[i%2], tokens[1-i%2])
		}
		var meeting, working sync.WaitGroup
		meeting.Add(2)
		for i, s := range stores {
			meet := sync.OnceFunc(func() { meeting.Done(); meeting.Wait() })
			working.Go(func() {
				defer meet() // also if nothing was decided again, so that the other side does not wait for ever
				side{s, fmt.Sprint("side", i), meet, 256}.advanceAll(t, code)
			})
		}
		working.Wait()
		r.folded(ids...)
		hooks := value[int](r, `select count(*) from hooks h join runs r on r.id = h.run where r.run_id like $1`, fmt.Sprintf("r%d-%%", round))
		if hooks != 2*runs {
			t.Errorf("round %d: %d tokens have an owner, want %d", round, hooks, 2*runs)
		}
	}
	r.noDeadlock(pools...)
}

// picky wants two of eight tokens at a time, in an order of its own, and tries others for those that are taken.
func picky(run spec.RunID) author {
	h := fnv.New64a()
	_, _ = h.Write([]byte(run))
	order := rand.New(rand.NewPCG(h.Sum64(), 0)).Perm(8)
	return func(s *history.State) history.Decision {
		all, open := []history.Command{wait("w")}, 0
		for _, i := range order {
			id := fmt.Sprint("h", i)
			all = append(all, hookOn(id, fmt.Sprint("t", i)))
			if s.Hook(spec.HookID(id)).Rejected == nil {
				open++
			}
			if open == 2 {
				break
			}
		}
		return decide(all...)
	}
}

// Whatever tokens many dispatchers want in whatever order, there is no deadlock, no run is blocked, and each token has one
// owner.
func TestManyDispatchersWantTheSameTokens(t *testing.T) {
	t.Parallel()
	r := running(t)
	const runs = 60
	var ids []string
	for i := range runs {
		ids = append(ids, fmt.Sprint("r", i))
		r.ok(r.startOf(ids[i]))
	}
	var pools []*pgxpool.Pool
	var working sync.WaitGroup
	code := func(run history.Run) author { return picky(run.Key.RunID) }
	for range 4 {
		pools = append(pools, r.impatient())
		d := side{r.open(pools[len(pools)-1]), "1", func() {}, 5}
		working.Go(func() { d.advanceAll(t, code) })
	}
	working.Wait()
	side{r.Store, "1", func() {}, 256}.advanceAll(t, code) // what was locked when the last one looked
	r.folded(ids...)
	if hooks := value[int](r, `select count(*) from hooks`); hooks != 8 {
		t.Errorf("%d tokens have an owner, want 8", hooks)
	}
	r.noDeadlock(pools...)
}

// Two processes were given one name by mistake, and register the same codes in another order.
func TestHeartbeatsUnderOneName(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	var codes []Code
	for i := range 60 {
		codes = append(codes, Code{Workflow: fmt.Sprint("w", i), Version: "1"})
	}
	reversed := slices.Clone(codes)
	slices.Reverse(reversed)
	var pools []*pgxpool.Pool
	var working sync.WaitGroup
	for i, order := range [][]Code{codes, reversed} {
		pools = append(pools, r.impatient())
		s := r.open(pools[i])
		working.Go(func() {
			for n := range 60 {
				err := s.Heartbeat(t.Context(), "twin", order)
				if n%5 == 4 && err == nil {
					err = s.Leave(t.Context(), "twin")
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	r.noDeadlock(pools...)
}
