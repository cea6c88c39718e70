package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/measure"
	"github.com/flowgate-go/flowgate/bench/internal/report"
	"github.com/flowgate-go/flowgate/bench/internal/server"
	"github.com/flowgate-go/flowgate/db"
)

// program is one measuring of everything.
type program struct {
	options
	bench *measure.Bench
	log   io.Writer
	begin time.Time
	peers *peers // nil when they are not asked for
}

// measureHere starts a server and makes the measurements.
func measureHere(ctx context.Context, o options, figures *report.Figures, log io.Writer) (err error) {
	p := &program{options: o, log: log, begin: time.Now()}
	p.say("starting PostgreSQL")
	s, err := server.Start(ctx, db.Migrate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := describe(ctx, s, figures); err != nil {
		return err
	}
	if o.statements {
		if err := s.KeepStatements(ctx); err != nil {
			return err
		}
	}
	p.bench = &measure.Bench{Server: s, Figures: figures, Sizes: o.sizes, Audit: o.audit}
	defer func() { err = errors.Join(err, p.bench.Close()) }()
	if o.peers {
		p.say("compiling the peers")
		runs := peerRuns
		if o.quick {
			runs = peerRunsQuick
		}
		if p.peers, err = buildPeers(ctx, s.Dir(), runs, o.peerJobs()); err != nil {
			return err
		}
	}
	return p.repeatAll(ctx)
}

// describe states what the figures were measured on.
func describe(ctx context.Context, s *server.Server, figures *report.Figures) error {
	settings, err := s.Describe(ctx)
	if err != nil {
		return err
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		figures.State("postgres."+name, settings[name])
		list = append(list, name+" "+settings[name])
	}
	figures.Note("PostgreSQL: %s", strings.Join(list, ", "))
	return nil
}

// repeatAll makes every measurement in each repetition, so that what changes on the machine meanwhile meets them all.
func (p *program) repeatAll(ctx context.Context) error {
	for n := range p.repeat {
		p.bench.Figures.Repeat()
		for _, m := range measure.All {
			if !p.wants(m.Name) || m.Once && n > 0 {
				continue
			}
			if err := p.one(ctx, n, m); err != nil {
				return err
			}
		}
		if p.peers != nil && p.wants(peersName) {
			if err := p.one(ctx, n, measure.Measurement{Name: peersName, Run: p.peers.measure}); err != nil {
				return err
			}
		}
	}
	return nil
}

// one makes a measurement. One that goes wrong does not end the others, but for the end of the time.
func (p *program) one(ctx context.Context, n int, m measure.Measurement) error {
	if spent := time.Since(p.begin); p.quick && !p.options.peers && spent > quickBegins {
		p.bench.Figures.LeaveOut(m.Name, fmt.Sprintf("%s were over", quickBegins))
		return nil
	}
	runtime.GC() // of what the measurement before left
	begin := time.Now()
	if err := m.Run(ctx, p.bench); err != nil {
		p.bench.Figures.Fail(m.Name, err)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if p.quick && m.Name == "raw" {
		p.shrink()
	}
	if p.statements {
		if err := p.bench.Server.WriteStatements(ctx, p.log, 12); err != nil {
			return err
		}
	}
	p.say("repetition %d: %s took %s", n+1, m.Name, time.Since(begin).Round(10*time.Millisecond))
	return nil
}

// fastEnough is the rate of raw inserts at which quick mode needs about half a minute.
const fastEnough = 12_000

// shrink does less on a slower machine, so that there is time for everything.
func (p *program) shrink() {
	rate, ok := p.bench.Figures.Get("insert_commit_per_s")
	if share := max(rate/fastEnough, 0.2); ok && share < 1 {
		p.bench.Sizes = p.bench.Sizes.Share(share)
		p.bench.Figures.Note("the machine is slow or busy: numbers of runs are %.0f %% of what quick mode takes elsewhere", 100*share)
	}
}

// say tells how far it is, to who watches.
func (p *program) say(format string, args ...any) {
	fmt.Fprintf(p.log, "%6.1fs  %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}
