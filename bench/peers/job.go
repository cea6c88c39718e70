package main

import (
	"fmt"
	"slices"
	"strings"
)

// job is what runs are made to do.
type job string

// The jobs, in the order in which a peer does them, each on an engine and a store of its own.
const (
	signalJob job = "signal" // a run waits for a signal, gets it, and ends
	stepsJob  job = "steps"  // a run does three steps in sequence, and ends
)

// stepCount is the number of steps of a run of stepsJob. Each hands its input on.
const stepCount = 3

var allJobs = []job{signalJob, stepsJob}

// parseJobs reads names with commas between them; none are all.
func parseJobs(names string) ([]job, error) {
	if names == "" {
		return allJobs, nil
	}
	var jobs []job
	for _, name := range strings.Split(names, ",") {
		if !slices.Contains(allJobs, job(name)) {
			return nil, fmt.Errorf("-jobs: there is no job %q, only %s and %s", name, signalJob, stepsJob)
		}
		jobs = append(jobs, job(name))
	}
	return jobs, nil
}
