package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// notification is the type of the message by which PostgreSQL says that somebody has called NOTIFY (protocol 3.0).
const notification = 'A'

// lossTime is how long what is sent gets lost before a connection that is cut ends.
const lossTime = 100 * time.Millisecond

// proxy stands between one process and PostgreSQL. On demand it drops notifications and cuts connections.
type proxy struct {
	listener net.Listener
	socket   string // of PostgreSQL
	deaf     atomic.Bool
	lossy    [2]atomic.Bool // what the process sends, and what the server sends, is lost
	dropped  atomic.Int64   // notifications
	cuts     atomic.Int64
	cutting  atomic.Bool

	mu   sync.Mutex
	open map[net.Conn]bool // of the process
	work sync.WaitGroup
}

// openProxy listens on a free port for connections to the server behind a socket. It works until close.
func openProxy(ctx context.Context, socket string) (*proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, socket: socket, open: map[net.Conn]bool{}}
	p.work.Go(func() { p.accept(context.WithoutCancel(ctx)) })
	return p, nil
}

// url is how the process calls the database.
func (p *proxy) url() string {
	return "postgres://postgres@" + p.listener.Addr().String() + "/postgres?sslmode=disable"
}

func (p *proxy) accept(ctx context.Context) {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.work.Go(func() { p.serve(ctx, c) })
	}
}

// serve carries one connection. When one side ends, so does the other.
func (p *proxy) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "unix", p.socket)
	if err != nil {
		return // the process finds its connection closed: there is no PostgreSQL now
	}
	defer server.Close()
	p.mu.Lock()
	p.open[client] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.open, client)
		p.mu.Unlock()
	}()
	ended := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(lossy{server, &p.lossy[toServer]}, client)
		ended <- struct{}{}
	}()
	go func() {
		_ = p.carry(lossy{client, &p.lossy[toProcess]}, server)
		ended <- struct{}{}
	}()
	<-ended
	_ = client.Close()
	_ = server.Close()
	<-ended
}

// carry copies the messages of the server but the notifications that are to be dropped. Every message from a server is a
// type, a length that counts itself, and the rest.
func (p *proxy) carry(client io.Writer, server io.Reader) error {
	in, out := bufio.NewReaderSize(server, 64<<10), bufio.NewWriterSize(client, 64<<10)
	head := make([]byte, 5)
	for {
		if in.Buffered() < len(head) {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		rest := int64(binary.BigEndian.Uint32(head[1:])) - 4
		to := io.Writer(out)
		if head[0] == notification && p.deaf.Load() {
			p.dropped.Add(1)
			to = io.Discard
		}
		if _, err := to.Write(head); err != nil {
			return err
		}
		if _, err := io.CopyN(to, in, rest); err != nil {
			return err
		}
	}
}

// The directions of a connection.
const (
	toServer = iota
	toProcess
)

// lossy is a direction that may lose what is sent.
type lossy struct {
	io.Writer
	losing *atomic.Bool
}

// Write implements io.Writer.
func (l lossy) Write(b []byte) (int, error) {
	if l.losing.Load() {
		return len(b), nil
	}
	return l.Writer.Write(b)
}

// cut breaks all connections of the process as a network does: first what is sent in one direction is lost, a commit or
// the answer to it, then the connections end.
func (p *proxy) cut(direction int) {
	p.cutting.Store(true)
	defer p.cutting.Store(false)
	p.cuts.Add(1)
	p.lossy[direction].Store(true)
	<-time.After(lossTime)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeAll()
	p.lossy[direction].Store(false) // of those that lost something none is open
}

// closeAll ends all connections. The lock is held.
func (p *proxy) closeAll() {
	for c := range p.open {
		_ = c.Close()
	}
}

// close ends the proxy and its connections.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closeAll()
	p.mu.Unlock()
	p.work.Wait()
}
