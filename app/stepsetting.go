package app

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

const (
	settingStepQueues = "FLOWGATE_STEP_QUEUES"
	settingStepLease  = "FLOWGATE_STEP_LEASE"
	settingStepDrain  = "FLOWGATE_STEP_DRAIN"
	settingGrace      = "FLOWGATE_TARGET_GRACE"
)

// maxStepQueue bounds how many steps of a queue a process can be told to do at a time.
const maxStepQueue = 10_000

// stepSettings say how a process does steps, and what else runs ask for.
type stepSettings struct {
	StepQueues  string `setting:"FLOWGATE_STEP_QUEUES" placeholder:"NAME=N,…" otherwise:"64 for each queue" help:"How many steps of a queue this process does at a time, such as mail=8,default=32; 1 to 10000."`
	StepLease   string `setting:"FLOWGATE_STEP_LEASE" default:"30s" help:"How long a step stays with a process that is gone before another one begins it, 1s to 1h. It is renewed while the process lives."`
	StepDrain   string `setting:"FLOWGATE_STEP_DRAIN" default:"5s" help:"How long a process that is told to stop waits for the steps under way, 100ms to 10m."`
	TargetGrace string `setting:"FLOWGATE_TARGET_GRACE" default:"1m" help:"How long a message of a run to another one is tried while there is no such run, 100ms to 24h."`
	httpPostSettings
}

// parts checks the settings.
func (s stepSettings) parts(clock func() time.Time) (p stepParts, err error) {
	if p.queues, err = parseQueues(s.StepQueues); err != nil {
		return p, err
	}
	if p.lease, err = parseSpan(settingStepLease, s.StepLease, time.Second, time.Hour); err != nil {
		return p, err
	}
	if p.drain, err = parseSpan(settingStepDrain, s.StepDrain, 100*time.Millisecond, 10*time.Minute); err != nil {
		return p, err
	}
	if p.grace, err = parseSpan(settingGrace, s.TargetGrace, 100*time.Millisecond, 24*time.Hour); err != nil {
		return p, err
	}
	config, err := s.config()
	if err != nil || config == nil {
		return p, err
	}
	config.Now = clock
	if err := p.posting(*config); err != nil {
		return p, postRefusal(err)
	}
	return p, nil
}

// parseQueues takes "name=number" entries apart.
func parseQueues(text string) (map[string]int, error) {
	queues := map[string]int{}
	for i, entry := range listed(text) {
		name, number, found := strings.Cut(entry, "=")
		n, err := strconv.Atoi(number)
		switch {
		case !found || err != nil || n < 1 || n > maxStepQueue:
			return nil, setting(settingStepQueues, fmt.Sprintf("entry %d must be name=number, such as mail=8, with a number from 1 to %d",
				i+1, maxStepQueue))
		case spec.CheckName("queue", name) != nil:
			return nil, setting(settingStepQueues, fmt.Sprintf("entry %d has a name that is none: want 1 to 255 bytes of printable UTF-8", i+1))
		}
		if _, twice := queues[name]; twice {
			return nil, setting(settingStepQueues, fmt.Sprintf("entry %d names a queue that stands there before", i+1))
		}
		queues[name] = n
	}
	return queues, nil
}

// listed takes a list apart that has commas in it.
func listed(text string) []string {
	var entries []string
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// parseSpan reads a duration within bounds.
func parseSpan(name, text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, setting(name, fmt.Sprintf("must be a duration from %s to %s, such as 90s", least, most))
	}
	return d, nil
}

// parseWhole reads a number within bounds.
func parseWhole(name, text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, setting(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n, nil
}
