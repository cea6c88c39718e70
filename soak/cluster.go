package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// clusterSize is the number of processes.
const clusterSize = 3

// glance is the pause between two looks at something that tells nobody when it changes.
const glance = 10 * time.Millisecond

// startPause is the pause before a start after one that found no database.
const startPause = 200 * time.Millisecond

// slot is the place of one process, which is started again whenever it ends.
type slot struct {
	number int
	proxy  *proxy
	clock  time.Duration // its clock is ahead by this
	starts int           // used by one goroutine

	mu  sync.Mutex
	now *process // nil before the first one
}

func (s *slot) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// cluster is the processes under test. They share keys and a database, each behind a proxy of its own.
type cluster struct {
	dir   string
	db    *database
	env   []string
	slots []*slot

	fixed    atomic.Bool  // processes started from now on are of the fixed deployment
	kills    atomic.Int64 // of processes that ran
	failed   atomic.Int64 // starts that found no database
	violated chan error   // ends that nobody asked for; holds one
	work     sync.WaitGroup
	stop     context.CancelFunc
}

// startCluster starts the processes and keeps them running until close. The clock of one of them is wrong.
func startCluster(ctx context.Context, dir string, db *database, rng *rand.Rand) (*cluster, error) {
	ctx, stop := context.WithCancel(ctx)
	c := &cluster{dir: dir, db: db, violated: make(chan error, 1), stop: stop}
	c.env = []string{
		"FLOWGATE_LISTEN=127.0.0.1:0", "FLOWGATE_ADMIN_LISTEN=127.0.0.1:0", "FLOWGATE_PUBLIC_URL=https://soak.example.com",
		"FLOWGATE_MINT_KEYS=" + newKey(rng), "FLOWGATE_DIGEST_KEYS=" + newKey(rng),
		"FLOWGATE_SIGN_KEYS=" + newKey(rng), "FLOWGATE_LOG_FORMAT=json",
	}
	for n := range clusterSize {
		p, err := openProxy(ctx, db.socket())
		if err != nil {
			c.close()
			return nil, err
		}
		c.slots = append(c.slots, &slot{number: n, proxy: p})
	}
	wrong := c.slots[rng.IntN(clusterSize)]
	wrong.clock = []time.Duration{7 * time.Minute, -7 * time.Minute}[rng.IntN(2)]
	for _, s := range c.slots {
		c.work.Go(func() { c.keep(ctx, s) })
	}
	return c, nil
}

// newKey is a key as settings spell it.
func newKey(rng *rand.Rand) string {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(rng.Uint32())
	}
	return "soak:" + base64.StdEncoding.EncodeToString(secret)
}

// keep starts the process of a slot, again whenever it ends.
func (c *cluster) keep(ctx context.Context, s *slot) {
	for ctx.Err() == nil {
		before := c.troubles(s)
		p, err := c.launch(ctx, s)
		if err != nil {
			c.violate(err)
			return
		}
		<-p.ended
		switch {
		case p.killed.Load() || ctx.Err() != nil:
		case p.url.Load() == nil && c.troubles(s).since(before):
			c.failed.Add(1)
			<-time.After(startPause)
		default:
			c.violate(fmt.Errorf("process %d ended by itself: %w; its log is %s", s.number, p.err, p.log))
			return
		}
	}
}

// troubles are the losses of the database that a process may have had.
type troubles struct {
	down        bool
	kills, cuts int64
}

// since says whether the process may have lost its database since an earlier look.
func (t troubles) since(before troubles) bool { return before.down || t != before }

func (c *cluster) troubles(s *slot) troubles {
	return troubles{c.db.down.Load() || s.proxy.cutting.Load(), c.db.kills.Load(), s.proxy.cuts.Load()}
}

func (c *cluster) launch(ctx context.Context, s *slot) (*process, error) {
	s.starts++
	env := append([]string{"FLOWGATE_DATABASE_URL=" + s.proxy.url()}, c.env...)
	fixed := c.fixed.Load()
	if fixed {
		env = append(env, settingFixed+"=1")
	}
	if s.clock != 0 {
		env = append(env, settingClock+"="+s.clock.String())
	}
	log := filepath.Join(c.dir, fmt.Sprintf("serve-%d-%05d.log", s.number, s.starts))
	p, err := launch(ctx, log, env, "serve", "--open-api")
	if err != nil {
		return nil, err
	}
	p.fixed = fixed
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = p
	return p, nil
}

// violate reports the first end that nobody asked for.
func (c *cluster) violate(err error) {
	select {
	case c.violated <- err:
	default:
	}
}

// living lists the processes that take requests, by the number of their slot.
func (c *cluster) living() map[int]*process {
	found := map[int]*process{}
	for _, s := range c.slots {
		if p := s.process(); p != nil && p.lives() {
			found[s.number] = p
		}
	}
	return found
}

// any waits for a process that takes requests, and returns its number and address.
func (c *cluster) any(ctx context.Context, rng *rand.Rand) (int, string, error) {
	for {
		if n, p, found := c.pick(rng); found {
			return n, *p.url.Load(), nil
		}
		if err := pause(ctx, glance); err != nil {
			return 0, "", err
		}
	}
}

// pick takes one of the processes that take requests, if there are any.
func (c *cluster) pick(rng *rand.Rand) (int, *process, bool) {
	living, from := c.living(), rng.IntN(clusterSize)
	for i := range clusterSize {
		n := (from + i) % clusterSize
		if p, found := living[n]; found {
			return n, p, true
		}
	}
	return 0, nil, false
}

// deploy kills all processes and waits for new ones of the fixed deployment, or of the broken one. A process that was
// being started when it began may be of the other one.
func (c *cluster) deploy(ctx context.Context, fixed bool) error {
	c.fixed.Store(fixed)
	for _, s := range c.slots {
		if p := s.process(); p != nil {
			p.kill()
		}
	}
	for {
		ready := 0
		for _, p := range c.living() {
			if p.fixed != fixed {
				p.kill()
				continue
			}
			ready++
		}
		if ready == clusterSize {
			return nil
		}
		if err := pause(ctx, glance); err != nil {
			return err
		}
	}
}

// close kills the processes and closes their proxies.
func (c *cluster) close() {
	c.stop()
	c.work.Wait()
	for _, s := range c.slots {
		s.proxy.close()
	}
}

// logs are the files that the processes wrote, those of living processes last.
func (c *cluster) logs() ([]string, error) { return filepath.Glob(filepath.Join(c.dir, "serve-*.log")) }

// forget removes the logs of processes that have ended.
func (c *cluster) forget() error {
	all, err := c.logs()
	if err != nil {
		return err
	}
	for _, path := range all {
		current := false
		for _, s := range c.slots {
			current = current || s.process().log == path
		}
		if current {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
