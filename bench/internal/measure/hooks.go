package measure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/gateway"
)

// Hooks answers one hook of each run by its callback URL, through the gateway on a loopback socket, over one keep-alive
// connection per client. The rate of runs counts from the first request to the last completion, that of acceptances to
// the last answer.
func Hooks(ctx context.Context, b *Bench) (err error) {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := ln.Addr().String()
	r, err := b.newRig(ctx, "http://"+address)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { err = errors.Join(err, r.close()) }()
	gw, err := gateway.New(gateway.Config{Engine: r.engine, PublicURL: "http://" + address})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	serving, halt := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- gw.Serve(serving, ln) }()
	defer func() {
		halt()
		err = errors.Join(err, <-served)
	}()
	n, name := b.Sizes.Hooks, names("hook")
	if _, err := r.park(ctx, hookSpec.Name, name, many, n); err != nil {
		return err
	}
	paths := make([]string, n)
	if _, err := load.Spread(ctx, connections, n, func(ctx context.Context, i int) error {
		link, err := r.engine.HookLink(ctx, name(i), "answer")
		paths[i] = "/callbacks/flow/hooks/" + link.Token.Reveal()
		return err
	}); err != nil {
		return err
	}
	return r.callBack(ctx, address, paths)
}

// callBack sends the requests and adds the figures.
func (r *rig) callBack(ctx context.Context, address string, paths []string) error {
	free := make(chan *load.Conn, many)
	for range many {
		c, err := load.Dial(ctx, address, "")
		if err != nil {
			return err
		}
		defer c.Close()
		free <- c
	}
	begin := time.Now()
	accepted, err := load.Spread(ctx, many, len(paths), func(ctx context.Context, i int) error {
		c := <-free
		defer func() { free <- c }()
		status, _, err := c.Do(ctx, "POST", paths[i], floor.Payload, 10*time.Second)
		if err == nil && status != 202 {
			err = fmt.Errorf("a callback was answered %d", status)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := r.rest(ctx); err != nil {
		return err
	}
	took := time.Since(begin)
	r.b.Figures.Add("hook_http_accepted_per_s", load.PerSecond(len(paths), accepted))
	r.b.Figures.Add("hook_http_runs_per_s", load.PerSecond(len(paths), took))
	return r.checkCompleted(ctx, hookSpec.Name, len(paths))
}
