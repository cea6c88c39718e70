package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// logCall writes the one line of a request: what happened, and nothing the caller sent but a known method.
func (g *Gateway) logCall(k *call, method string, status int) {
	line := g.config.Logger.Info()
	if status >= 500 {
		line = g.config.Logger.Error()
	}
	if !slices.Contains(methods, method) {
		method = unknownMethod
	}
	line = line.Str("method", method).Str("route", k.route).Int("status", status).Str("verdict", string(k.verdict)).
		Dur("duration", time.Since(k.began)).Str("request_id", k.id).Stringer("peer", k.peer)
	if k.refused != "" {
		line = line.Str("credential", k.refused)
	}
	k.event.log(line)
	if k.fault != nil {
		describeFault(line, k.fault)
	}
	if k.panicked != "" {
		line = line.Str("panic", k.panicked).Bytes("stack", k.stack)
	}
	line.Msg("request")
}

// describeFault names the kinds of an error and its SQLSTATE. The text of an error from outside may repeat values of
// the request, so it is left out.
func describeFault(line *zerolog.Event, err error) {
	line.Str("fault", strings.Join(kindsOf(err), " "))
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		line.Str("sqlstate", state.SQLState())
	}
}

// kindsOf lists the types of an error's chain, outermost first.
func kindsOf(err error) []string {
	kinds := []string{fmt.Sprintf("%T", err)}
	switch e := err.(type) { //nolint:errorlint // it walks the chain itself
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			kinds = append(kinds, kindsOf(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			kinds = append(kinds, kindsOf(inner)...)
		}
	}
	return kinds
}
