package httppost

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// maxAddresses bounds how many addresses of one name are tried.
const maxAddresses = 8

// dialer connects to allowed addresses only. A name is resolved once, here, and the addresses found are what is connected
// to; the address of the socket is checked once more at the moment of the connect.
type dialer struct {
	resolver Resolver
	rules    addressRules
	// connecting, nil but in tests, is told of each address that passed, before the connect.
	connecting func(netip.AddrPort) error
}

// dial is the DialContext of the transport. Errors: *Error for what the rules refuse, else those of package net.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range found {
		conn, err := d.connect(ctx, network, host, net.JoinHostPort(a.String(), port), len(found)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// lookup returns the addresses of a host that may be connected to, at least one.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	found := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		found = append(found, a)
	} else if found, err = d.resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	var may []netip.Addr
	rule := ""
	for _, a := range found {
		refused := d.rules.refusal(host, a)
		if refused == "" {
			may = append(may, a.Unmap())
		} else if rule == "" {
			rule = refused
		}
	}
	if len(may) == 0 && rule != "" {
		return nil, refused(host, rule)
	}
	if len(may) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return may[:min(len(may), maxAddresses)], nil
}

// connect takes an equal part of what is left of the time for each of the addresses left.
func (d *dialer) connect(ctx context.Context, network, host, address string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	one := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return d.check(host, address)
	}}
	return one.DialContext(ctx, network, address)
}

// check decides on the address that a socket is about to connect to.
func (d *dialer) check(host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refused(host, ruleReserved)
	}
	if rule := d.rules.refusal(host, to.Addr()); rule != "" {
		return refused(host, rule)
	}
	if d.connecting != nil {
		return d.connecting(to)
	}
	return nil
}
