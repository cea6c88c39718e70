package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// entry is a peer with its settings: one line of the report.
type entry struct {
	name   string
	module string // its version in the build is the version reported
	note   string
	// slow is set where the peer finds a signal by polling seldom: fewer round trips then take long enough.
	slow bool
	// embedded is set for a peer that brings its own store, and leaves the server alone.
	embedded bool
	// queue is set for a peer without workflows, which has no steps to do one after the other.
	queue bool
	open  func(context.Context, place) (engine, error)
}

// place is where an engine is opened.
type place struct {
	job   job
	board *board
	// store is an empty database for this engine alone, nil for an embedded one.
	store *store
}

// engine is a peer at work on a store of its own. Its start and signal are called by many goroutines at once. Whatever
// the engine does with a run it tells the board of its place.
type engine interface {
	// start makes a run of the place's job, and returns when the run is durable.
	start(ctx context.Context, run string) error
	// signal delivers the only signal of a run of signalJob, and returns when the signal is durable.
	signal(ctx context.Context, run string) error
	// completed counts the completed runs in the engine's own store.
	completed(ctx context.Context) (int, error)
	// close ends the engine, also one whose runs still wait. It may leave its connections to the store open.
	close(ctx context.Context) error
}

// entries are all peers, in the order in which they are measured.
func entries() []entry {
	return []entry{
		dbosEntry("dbos", 20),
		dbosEntry("dbos-tuned", 64),
		riverEntry("river", riverDefault),
		riverEntry("river-tuned", riverTuned),
		workflowsEntry("go-workflows-sqlite", workflowsDefault),
		workflowsEntry("go-workflows-sqlite-tuned", workflowsTuned),
	}
}

// does says whether the peer has what a job needs.
func (e entry) does(j job) bool { return j != stepsJob || !e.queue }

// choose returns the entries of these names, or all when there are no names.
func choose(names []string) ([]entry, error) {
	all := entries()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(e entry) bool { return e.name == name }) {
			return nil, fmt.Errorf("-only: there is no peer %q among %s", name, strings.Join(namesOf(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(e entry) bool { return !slices.Contains(names, e.name) }), nil
}

func namesOf(all []entry) (names []string) {
	for _, e := range all {
		names = append(names, e.name)
	}
	return names
}

// version is the version of the entry's module that this program is built with, or empty when the build does not say.
func (e entry) version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == e.module {
			return dep.Version
		}
	}
	return ""
}
