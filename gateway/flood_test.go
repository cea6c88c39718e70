package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// rowCount counts the rows of all tables.
func rowCount(t *testing.T, url string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), `select table_name::text, (xpath('/row/n/text()',
		query_to_xml(format('select count(*) as n from %I', table_name), false, true, '')))[1]::text
		from information_schema.tables where table_schema = 'public' order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var name, n string
		err := row.Scan(&name, &n)
		return name + "=" + n, err
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d tables, %v", len(all), err)
	}
	return strings.Join(all, " ")
}

// 23: ten thousand guesses from one address are answered 404 until its budget is spent, then 429. They cost the database a
// known number of look-ups and leave no row, and nobody else notices.
func TestFlood_23_random_tokens_from_one_address(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var breaker pgfault.Breaker
	s, _ := limited(t, engineOn(t, url, watched(t, url, &breaker)), Limits{}, nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	late := serveOn(t, engineOn(t, url, nil), nil).open("late", doorInput{Hook: "ask", Stay: true})
	next, before := unknownTokens(t), rowCount(t, url)

	const n, senders = 10_000, 32
	var got [600]atomic.Int64
	seen := statements(&breaker, func() {
		var all sync.WaitGroup
		for range senders {
			all.Go(func() {
				for range n / senders {
					r, err := s.try("POST", "/callbacks/flow/hooks/"+next(), `1`)
					if err != nil {
						t.Errorf("send: %v", err)
						return
					}
					got[r.status].Add(1)
				}
			})
		}
		all.Wait()
	})
	unknown, refused := got[404].Load(), got[429].Load()
	limits := DefaultLimits()
	// Those that are looked up when the last of the budget is spent are answered as well.
	least, most := int64(limits.Failures.Burst), int64(limits.Failures.Burst+limits.suspect().Burst+senders)
	if unknown < least || unknown > most || unknown+refused < n-n%senders {
		t.Errorf("got %d times 404, want %d to %d, and %d times 429", unknown, least, most, refused)
	}
	if looked := lookUps(seen); looked == 0 || int64(looked) > unknown {
		t.Errorf("%d statements looked tokens up, for %d answers", looked, unknown)
	}
	if after := rowCount(t, url); after != before {
		t.Errorf("rows were written:\n%s\n%s", before, after)
	}
	checkLimited(t, s.answer("malformed", `1`))
	checkAccepted(t, s.answer(token, `1`))
	checkAccepted(t, s.from("127.0.0.2").answer(late, `1`))
	checkProblem(t, s.from("127.0.0.2").answer(next(), `1`), 404, "not-found")
}

// Tokens that are none never reach the database: not one statement is sent for them.
func TestFlood_malformed_tokens_cost_no_statement(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var breaker pgfault.Breaker
	s := serveOn(t, bareEngine(t, url, watched(t, url, &breaker)), nil) // it does not run: what is sent, requests send
	good := unknownTokens(t)()
	seen := statements(&breaker, func() {
		for i := range 500 {
			r := s.answer([]string{"x", good[:52], good + "0", strings.ToLower(good), "fhk_" + strings.Repeat("A", 49)}[i%5], `1`)
			if r.status != 404 {
				t.Fatalf("got %d", r.status)
			}
			s.call("POST", "/callbacks/flow/hooks", `1`, "Authorization", "Bearer "+good[:51]+fmt.Sprint(i%10)+"x")
			s.call("POST", "/callbacks/flow/hooks/"+good, `{"a":`)
		}
	})
	if len(seen) != 0 {
		t.Errorf("%d statements were sent, such as %s", len(seen), seen[0])
	}
	if seen = statements(&breaker, func() { s.answer(good, `1`) }); lookUps(seen) != 1 {
		t.Errorf("a well-formed one: %d look-ups in %d statements", lookUps(seen), len(seen))
	}
}

// flood sends junk over this many connections until it is told to stop, and counts what was answered.
func (s *site) flood(connections int, stop <-chan struct{}, junk func(i int) (path, body string)) (got map[int]*atomic.Int64, ended func()) {
	got = map[int]*atomic.Int64{}
	for _, status := range []int{202, 400, 401, 404, 429, 503} {
		got[status] = &atomic.Int64{}
	}
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			for n := i; ; n += connections {
				select {
				case <-stop:
					return
				default:
				}
				path, body := junk(n)
				r, err := s.try("POST", path, body)
				if err != nil || got[r.status] == nil {
					s.t.Errorf("junk: got %d, %v", r.status, err)
					return
				}
				got[r.status].Add(1)
			}
		})
	}
	return got, all.Wait
}

// While strangers flood with junk over 64 connections, every valid callback is answered in time, also those from the
// address of the flood whose tokens are known, and what the database has to look up is bounded by time alone.
func TestFlood_valid_callbacks_are_served(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var breaker pgfault.Breaker
	s := serveOn(t, engineOn(t, url, watched(t, url, &breaker)), func(c *Config) { c.Limits = Limits{} })
	other := serveOn(t, engineOn(t, url, nil), nil)
	const n = 60
	var known, late [n]string
	for i := range n {
		known[i] = s.open(fmt.Sprint("known", i), doorInput{Hook: "ask", Stay: true})
		late[i] = other.open(fmt.Sprint("late", i), doorInput{Hook: "ask", Stay: true})
	}
	next := unknownTokens(t)
	junk := func(i int) (string, string) {
		switch i % 4 {
		case 0:
			return "/callbacks/flow/hooks/malformed", "1"
		case 1, 2:
			return "/callbacks/flow/hooks/" + next(), "1"
		}
		return "/v1/runs/%20/signals/x", "{"
	}
	stop := make(chan struct{})
	began := time.Now()
	seen := statements(&breaker, func() {
		got, ended := s.flood(64, stop, junk)
		await(t, "the flood is under way", func() bool { return got[429].Load() > 500 })
		elsewhere := s.from("127.0.0.2")
		for i := range n {
			checkServed(t, s, known[i])
			checkServed(t, elsewhere, late[i])
		}
		close(stop)
		ended()
		if got[202].Load()+got[503].Load() > 0 {
			t.Errorf("junk was taken or met trouble: %d and %d times", got[202].Load(), got[503].Load())
		}
		t.Logf("junk: %d times 404, %d times 429 in %s", got[404].Load(), got[429].Load(), time.Since(began))
	})
	passed := time.Since(began).Seconds()
	limits := DefaultLimits()
	most := float64(limits.Failures.Burst+limits.suspect().Burst+64) +
		passed*(limits.Failures.PerSecond+limits.suspect().PerSecond) + 2*n
	if looked := float64(lookUps(seen)); looked == 0 || looked > most {
		t.Errorf("%.0f look-ups in %.1f s, want at most %.0f", looked, passed, most)
	}
}

func checkServed(t *testing.T, s *site, token string) {
	t.Helper()
	began := time.Now()
	checkMessage(t, s.answer(token, `1`), http.StatusAccepted, "accepted", "accepted")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a valid callback took %s beside the flood", took)
	}
}
