package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Update is an accepted update.
type Update struct {
	ID     spec.UpdateID
	Name   string
	Arg    json.RawMessage // what the caller sent; see UpdateArg
	Source string
	Actor  string
	Result json.RawMessage // of a completed one
}

// Updates lists the updates of a name that wait for an answer, in order of acceptance: those that were accepted in earlier
// generations, too. Each accepted update calls the workflow function at least once. Answer with CompleteUpdate and
// RejectUpdate, in the same call or in a later one; what is not answered when the run ends is orphaned.
func (r *reads) Updates(name string) []Update {
	var open []Update
	for _, u := range r.use().Updates(name) {
		open = append(open, Update{ID: u.UpdateID, Name: u.Name, Arg: bytes.Clone(u.Payload.Bytes()), Source: u.Source, Actor: u.Actor})
	}
	return open
}

// CompletedUpdates lists the updates of a name that this generation has completed, with their results, in the order in
// which it completed them. What updates changed is read from it: the workflow function keeps nothing between its calls.
func (r *reads) CompletedUpdates(name string) []Update {
	var done []Update
	for _, u := range r.use().DoneUpdates(name) {
		done = append(done, Update{
			ID: u.UpdateID, Name: u.Name, Arg: bytes.Clone(u.Payload.Bytes()), Source: u.Source, Actor: u.Actor,
			Result: bytes.Clone(u.Output.Bytes()),
		})
	}
	return done
}

// UpdateArg decodes the argument of an update. Decoding is that of Input.
func UpdateArg[T any](u Update) (T, error) {
	return decode[T](fmt.Sprintf("argument of update %q", u.ID), u.Arg)
}

// CompleteUpdate answers an update with its result, which must encode as JSON of at most 4 MiB and fit the response schema
// that the spec declares: a result that does not blocks the run, and its caller goes on waiting for a fixed deploy. An update
// that is answered stays as it was answered. One that the generation was not shown blocks the run.
func (c *Context) CompleteUpdate(id spec.UpdateID, result any) Decision {
	st := c.use()
	p, err := canon.Marshal(result)
	if err = encodeError(err); err == nil {
		err = c.fits(st, id, p)
	}
	return decide(&history.CompleteUpdate{ID: id, Output: p}, c.wrong("CompleteUpdate", string(id), err))
}

// fits checks a result against what callers were promised.
func (c *Context) fits(st *history.State, id spec.UpdateID, result canon.Payload) error {
	name, open := st.UpdateName(id)
	if !open {
		return nil
	}
	if err := c.auth.updates[name].response.Validate(result.Bytes()); err != nil {
		return fmt.Errorf("the result breaks the response schema of update %q: %w", name, err)
	}
	return nil
}

// RejectUpdate refuses an update. Its caller is told the error's text, in one line of at most 1 KiB; nothing else comes of
// it. An update that is answered stays as it was answered. One that the generation was not shown blocks the run.
func (c *Context) RejectUpdate(id spec.UpdateID, reason error) Decision {
	c.use()
	if reason == nil {
		return Decision{err: c.wrong("RejectUpdate", string(id), errors.New("the error must not be nil"))}
	}
	return decide(&history.RejectUpdate{ID: id, Message: diagnosis(reason.Error())}, nil)
}

// WaitForUpdate says that the run waits for updates of a name that the workflow's spec declares, be there any or not. Every
// accepted update calls the function with or without it; it is what a run names that waits for nothing else. It leaves
// nothing in the history.
func (c *Context) WaitForUpdate(name string) Decision {
	c.use()
	err := spec.CheckName("name", name)
	if _, ok := c.spec.Update(name); err == nil && !ok {
		err = fmt.Errorf("update %q: %w", name, ErrUpdateUndeclared)
	}
	return decide(&history.WaitUpdate{Name: name}, c.wrong("WaitForUpdate", name, err))
}
