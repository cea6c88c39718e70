package app

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/metrics"
)

const (
	drainWithin      = 10 * time.Second // from a signal until requests under way are given up
	adminReadTimeout = 5 * time.Second
	adminDrainWithin = time.Second
)

// Ends that nobody asked for.
var (
	errEngineEnded   = errors.New("the engine ended by itself")
	errDatabaseEnded = errors.New("the embedded PostgreSQL ended by itself; postgres.log in its folder says why")
)

// run does the work of the process until ctx ends or one part fails, which ends the others. The gateway is drained
// first, while the engine still commits what is under way; then the engine ends, and the admin listener with it. The
// error is that of the part that failed.
func (p *process) run(ctx context.Context) error {
	p.announce()
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorking()
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		err := p.engine.Run(working)
		if err == nil && working.Err() == nil {
			err = errEngineEnded
		}
		return err
	})
	if p.box != nil {
		all.Go(func() error { return p.box.Run(working) })
	}
	all.Go(func() error {
		defer stopWorking()
		if p.gateway != nil {
			return p.gateway.Serve(ctx, p.public)
		}
		<-ctx.Done()
		return nil
	})
	if p.access != nil {
		all.Go(func() error { return p.access.Run(working) })
	}
	if p.admin != nil {
		all.Go(func() error { return p.serveAdmin(working) })
	}
	all.Go(func() error {
		select {
		case <-p.databaseEnded:
			return errDatabaseEnded
		case <-working.Done():
			return nil
		}
	})
	err := all.Wait()
	p.log.Info().Msg("stopped")
	return err
}

// announce says what begins. Whoever opened the API shall see that.
func (p *process) announce() {
	workflows, steps := count(p.registrations)
	line := p.log.Info().Int("workflows", workflows).Int("steps", steps)
	if p.public != nil {
		line = line.Stringer("listen", p.public.Addr()).Str("public_url", p.publicURL)
	}
	if p.admin != nil {
		line = line.Stringer("admin_listen", p.admin.Addr())
	}
	line.Msg("running")
	p.announceSources()
	switch {
	case p.public == nil:
	case p.openAPI:
		p.log.Warn().Msg("THE API UNDER /v1 IS OPEN: every program on this machine may start, read, answer and cancel runs")
	default:
		p.log.Info().Int("issuers", len(p.credentials.issuers)).
			Msg("the API under /v1 asks for credentials; callbacks need none but their token, unless their hook says so")
	}
}

// announceSources says who may send webhooks. Whoever left a source open shall see that.
func (p *process) announceSources() {
	if p.gateway == nil || p.inbox.sources == nil {
		return
	}
	p.log.Info().Strs("sources", p.inbox.sources.Names()).Msg("signed webhooks are taken at /ingress/{source}")
	if open := p.inbox.sources.Unverified(); len(open) > 0 {
		p.log.Warn().Strs("sources", open).Msg("THESE SOURCES ARE NOT VERIFIED: whoever reaches the gateway may send their events")
	}
}

// adminHandler answers probes and scrapes. Only the exact path is one of a scrape.
func (p *process) adminHandler(draining func() bool) http.Handler {
	probes := gateway.Admin(p.engine, draining)
	scrapes := metrics.Handler(metrics.Sources{Engine: p.engine, Gateway: p.gateway, Version: version(), Clock: p.clock})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && r.Method == http.MethodGet {
			scrapes.ServeHTTP(w, r)
			return
		}
		probes.ServeHTTP(w, r)
	})
}

// serveAdmin answers probes until ctx ends.
func (p *process) serveAdmin(ctx context.Context) error {
	var draining func() bool
	if p.gateway != nil {
		draining = p.gateway.Draining
	}
	server := &http.Server{
		Handler: p.adminHandler(draining), ReadTimeout: adminReadTimeout, WriteTimeout: adminReadTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(p.log, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(p.admin) }()
	select {
	case err := <-served:
		return fmt.Errorf("admin listener: %w", err)
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminDrainWithin)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		_ = server.Close() // a prober that holds its connection is cut off
	}
	<-served //nolint:errcheck // it says that the listener was closed, which was done here
	return nil
}
