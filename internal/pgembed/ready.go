//go:build linux || darwin

package pgembed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ready waits until the server behind a socket takes sessions, or ended returns the reason why it never will.
func ready(ctx context.Context, socket string, ended func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		last := probe(ctx, socket)
		if last == nil {
			return nil
		}
		if err := ended(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// probe opens a session as far as the authentication, which a server that is starting up or shutting down refuses.
func probe(ctx context.Context, socket string) error {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	body := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00" // protocol 3.0, then the parameters
	msg := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	if _, err := conn.Write(append(msg, body...)); err != nil {
		return err
	}
	kind := make([]byte, 1)
	if _, err := io.ReadFull(conn, kind); err != nil {
		return err
	}
	if kind[0] != 'R' { // AuthenticationOk
		return errors.New("the server takes no sessions yet")
	}
	_, _ = conn.Write([]byte{'X', 0, 0, 0, 4}) // Terminate: a courtesy, the probe has its answer
	return nil
}
