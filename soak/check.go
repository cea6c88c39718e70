package main

import (
	"fmt"
	"maps"
	"slices"
)

// check compares the ledger of a round with the world that the round left. It changes nothing and asks nobody.
func check(entries []entry, w world) []violation {
	runs, found := gather(entries)
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		c := runCheck{id: id, facts: runs[id], run: w.runs[id]}
		c.check()
		found = append(found, c.found...)
	}
	for _, id := range w.listed {
		if f := runs[id]; f == nil || f.start == nil || !f.start.known {
			found = append(found, violation{id, "is listed, but nobody was told that it was started"})
		}
	}
	listed := map[string]bool{}
	for _, id := range w.listed {
		if listed[id] {
			found = append(found, violation{id, "is listed twice"})
		}
		listed[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		if runs[id].start != nil && runs[id].start.known && !listed[id] {
			found = append(found, violation{id, "was acknowledged and is not listed"})
		}
	}
	return found
}

// runCheck compares one run with what the ledger says of it.
type runCheck struct {
	id    string
	facts *facts
	run   *run
	found []violation

	arrivals map[int64]event  // signal.received, by seq
	waits    map[string]event // wait.opened, by generation and wait ID
	taken    map[int64]event  // wait.completed, by the seq of its signal
	closings map[string]event // what closed a hook, by hook ID
	opened   map[string]event // hook.created, by hook ID
}

func (c *runCheck) wants(ok bool, format string, args ...any) {
	if !ok {
		c.found = append(c.found, violation{c.id, fmt.Sprintf(format, args...)})
	}
}

func (c *runCheck) check() {
	start := c.facts.start
	if start == nil || !start.known {
		c.wants(c.run == nil, "exists, but its start was not acknowledged")
		return
	}
	if c.run == nil {
		c.wants(false, "lost: its start was acknowledged")
		return
	}
	if len(c.run.events) == 0 {
		c.wants(false, "has no history")
		return
	}
	c.index()
	c.checkOrder()
	c.checkStart()
	c.checkSignals()
	c.checkWaits()
	c.checkHooks()
	c.checkCancel()
	c.checkEnd()
}

// index sorts the events by what they are about, and finds what must not be there twice.
func (c *runCheck) index() {
	c.arrivals, c.taken = map[int64]event{}, map[int64]event{}
	c.waits, c.closings, c.opened = map[string]event{}, map[string]event{}, map[string]event{}
	ids := map[string]bool{}
	for _, e := range c.run.events {
		switch d := e.Data; e.Type {
		case "signal.received":
			c.wants(!ids[d.SignalID], "signal %s is received twice", d.SignalID)
			ids[d.SignalID] = true
			c.arrivals[e.Seq] = e
		case "wait.opened":
			c.waits[waitKey(e)] = e
		case "wait.completed":
			_, twice := c.taken[d.SignalSeq]
			c.wants(!twice, "signal %s is read twice", d.SignalID)
			c.taken[d.SignalSeq] = e
		case "hook.created":
			c.opened[d.HookID] = e
		case "hook.resumed", "hook.disposed", "hook.expired", "hook.closed":
			before, twice := c.closings[d.HookID]
			c.wants(!twice, "hook %s: %s after %s", d.HookID, e.Type, before.Type)
			c.closings[d.HookID] = e
		}
	}
}

func waitKey(e event) string { return fmt.Sprintf("%d %s", e.Generation, e.Data.WaitID) }

// checkOrder checks that the history has no hole, and that its times do not run backwards.
func (c *runCheck) checkOrder() {
	for i, e := range c.run.events {
		if e.Seq != int64(i+1) {
			c.wants(false, "event %d of the history has seq %d", i+1, e.Seq)
			return
		}
		if i > 0 {
			before := c.run.events[i-1]
			c.wants(!e.At.Before(before.At), "seq %d is earlier than the one before", e.Seq)
			c.wants(e.Generation >= before.Generation, "seq %d is of an earlier generation than the one before", e.Seq)
		}
	}
}

func (c *runCheck) checkStart() {
	first, start := c.run.events[0], c.facts.start
	c.wants(first.Type == "run.started", "its history begins with %s", first.Type)
	c.wants(sameJSON(first.Data.Input, start.payload), "it was started with another input than the one acknowledged")
	c.wants(c.run.Workflow == start.name, "it is a %s, not a %s", c.run.Workflow, start.name)
	c.wants(sameTime(first.At, start.receipt.ReceivedAt) && start.receipt.Sequence == first.Seq,
		"its start has another receipt than the one acknowledged")
}
