package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// How often what is broken.
const (
	killEvery     = time.Second
	crashEvery    = 20 * time.Second
	crashFirst    = 7 * time.Second
	cutEvery      = 2 * time.Second
	deafnessEvery = 5 * time.Second // turns about, where a process hears notifications at times
)

// chaos breaks things until ctx ends: it kills processes and PostgreSQL with SIGKILL, cuts connections to the database
// and drops notifications. Of the processes one always hears them, one never does, and one by turns.
type chaos struct {
	cluster *cluster
	db      *database
	rng     *rand.Rand // of one goroutine
}

// run works until ctx ends. It returns what kept it from breaking things.
func (c *chaos) run(ctx context.Context) error {
	for n, s := range c.cluster.slots {
		s.proxy.deaf.Store(n > 0)
	}
	defer func() {
		for _, s := range c.cluster.slots {
			s.proxy.deaf.Store(false)
		}
	}()
	crashed := make(chan error, 1)
	recovering, stop := context.WithCancel(context.WithoutCancel(ctx)) // a recovery under way is waited for
	defer stop()
	go func() { crashed <- c.crashes(ctx, recovering) }()
	kill, cut, deafness := time.NewTicker(killEvery), time.NewTicker(cutEvery), time.NewTicker(deafnessEvery)
	defer kill.Stop()
	defer cut.Stop()
	defer deafness.Stop()
	direction := toServer
	for {
		select {
		case err := <-crashed:
			return err
		case <-kill.C:
			if _, p, found := c.cluster.pick(c.rng); found {
				p.kill()
				c.cluster.kills.Add(1)
			}
		case <-cut.C:
			c.cluster.slots[c.rng.IntN(clusterSize)].proxy.cut(direction)
			direction = toServer + toProcess - direction
		case <-deafness.C:
			deaf := &c.cluster.slots[clusterSize-1].proxy.deaf
			deaf.Store(!deaf.Load())
		}
	}
}

// crashes kills PostgreSQL until ctx ends.
func (c *chaos) crashes(ctx, recovering context.Context) error {
	for next := crashFirst; pause(ctx, next) == nil; next = crashEvery {
		if err := c.db.crash(recovering); err != nil {
			return err
		}
	}
	return nil
}
