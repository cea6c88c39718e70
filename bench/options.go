package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/measure"
	"github.com/flowgate-go/flowgate/bench/internal/remote"
)

// options are the flags.
type options struct {
	json, quick, peers bool
	only               map[string]bool // empty: everything
	profile            string          // file of a CPU profile
	statements         bool            // tell the dearest ones
	repeat             int
	audit              bool

	url    string
	remote remote.Load

	sizes measure.Sizes
}

// The times in which everything must end, and in quick mode that after which nothing new begins.
const (
	quickBound  = 48 * time.Second // then the server has to end
	quickBegins = 41 * time.Second
	fullBound   = 12 * time.Minute
	peersBound  = 20 * time.Minute // more
)

func (o options) bound() time.Duration {
	switch {
	case o.quick && !o.peers:
		return quickBound
	case o.peers:
		return fullBound + peersBound
	}
	return fullBound
}

// peersName is what -only calls the peers.
const peersName = "peers"

// parse reads the flags. Its error is told to the user; that for -help is flag.ErrHelp.
func parse(args []string, usage io.Writer) (options, error) {
	o := options{only: map[string]bool{}}
	names := measurementNames()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.BoolVar(&o.quick, "quick", false, "end within 50 s (without -peers): smaller numbers, one repetition, at most 10,000 parked runs")
	flags.BoolVar(&o.peers, "peers", false, "also measure other engines, with the program in bench/peers")
	flags.IntVar(&o.repeat, "repeat", 0, "repetitions, 1 to 20 (3, or 1 with -quick)")
	only := flags.String("only", "", "measure only these, separated by commas: "+strings.Join(names, ", "))
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of this process to this file; best with -only")
	flags.BoolVar(&o.statements, "statements", false, "after each measurement tell the statements that cost PostgreSQL most time")
	flags.StringVar(&o.url, "url", "", "load the service at this URL, http://host:port, in place of the rest; FLOWGATE_TOKEN is its bearer token")
	flags.BoolVar(&o.audit, "audit", false, "keep the audit trail, as flowgate serve does")
	o.remote.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("there are only flags, no arguments: %q", flags.Args())
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(names, name) {
			return o, fmt.Errorf("-only %s: there are only %s", name, strings.Join(names, ", "))
		}
		o.only[name] = true
	}
	o.peers = o.peers || o.only[peersName]
	return o, o.settle()
}

// settle checks what is given and fills in what is not.
func (o *options) settle() error {
	o.sizes = full
	if o.quick {
		o.sizes = quick
	}
	if o.repeat == 0 {
		o.repeat = 3
		if o.quick {
			o.repeat = 1
		}
	}
	if o.repeat < 1 || o.repeat > 20 {
		return fmt.Errorf("-repeat %d: 1 to 20", o.repeat)
	}
	if o.url == "" {
		return nil
	}
	return o.remote.Check(o.url)
}

// wants says whether a measurement is asked for.
func (o options) wants(name string) bool { return len(o.only) == 0 || o.only[name] }

func measurementNames() (names []string) {
	for _, m := range measure.All {
		names = append(names, m.Name)
	}
	return append(names, peersName)
}

// full takes some minutes on two processors, quick less than 50 seconds also when they are busy.
var (
	full = measure.Sizes{
		Raw: 2 * time.Second, Floor: 20_000, FloorAlone: 1500, Trips: map[int]int{1: 1000, 16: 8000, 64: 10_000},
		Steps: map[int]int{1: 400, 64: 4000}, Burst: 10_000,
		Bursts: 3, Hooks: 10_000, Steady: 6 * time.Second, Histories: []int{10, 100, 1000, 10_000}, Events: []int{10, 100, 1000, 10_000},
		Samples: 50, Sequences: 3, Cold: 3,
		Idle: []int{10_000, 100_000}, IdleFor: 20 * time.Second, Pairs: 7, Small: 2000,
	}
	quick = measure.Sizes{
		Raw: 500 * time.Millisecond, Floor: 8000, FloorAlone: 300, Trips: map[int]int{1: 300, 16: 1500, 64: 3000},
		Steps: map[int]int{1: 100, 64: 1000}, Burst: 10_000,
		Bursts: 1, Hooks: 4000, Steady: 1500 * time.Millisecond, Histories: []int{10, 100, 1000, 10_000}, Events: []int{10, 100, 1000},
		Samples: 20, Sequences: 1, Cold: 1,
		Idle: []int{10_000}, IdleFor: 3 * time.Second,
	}
)
