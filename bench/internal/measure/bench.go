package measure

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/report"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// Crowds are the numbers of clients that are measured.
var Crowds = []int{1, 16, 64}

// many is the greatest of Crowds, with which everything is measured that has one figure.
const many = 64

// Bench is what measurements share. It is not safe for concurrent use: one measurement at a time.
type Bench struct {
	Server  *server.Server
	Figures *report.Figures
	Sizes   Sizes
	Audit   bool // engines keep the audit trail

	fed *rig // the engine with the run that FanIn fed, for Resume
}

// Sizes say how much is done.
type Sizes struct {
	Raw        time.Duration // of raw inserts, for each number of clients
	Floor      int           // runs of a floor with many clients
	FloorAlone int           // runs of a floor with one client
	Trips      map[int]int   // round trips by number of clients
	Steps      map[int]int   // runs of steps and of children by number of clients
	Burst      int           // runs of a burst
	Bursts     int           // how often in a repetition: a burst is short
	Hooks      int           // runs that wait for a callback
	Steady     time.Duration // of the steady load
	Histories  []int         // earlier signals after which a resume is measured: four numbers, growing; the last is the fan-in
	Events     []int         // lengths of histories of settled steps after which a turn is measured: even numbers, growing
	Samples    int           // resumes at each of Histories, and turns at each of Events
	Sequences  int           // runs that are sent signals one after the other
	Cold       int           // fresh engines that take up runs they have not in memory
	Idle       []int         // runs parked while nothing happens
	IdleFor    time.Duration
	Pairs      int // bursts with many runs parked, each beside one with few; 0 leaves them out
	Small      int // runs of these bursts
}

// Share is a part of the numbers of runs, for a machine on which the whole would take too long. Lengths of histories
// and numbers of parked runs stay: they are what figures are named after.
func (s Sizes) Share(part float64) Sizes {
	of := func(n int) int { return max(int(part*float64(n)), 1) }
	trips, steps := map[int]int{}, map[int]int{}
	for clients, n := range s.Trips {
		trips[clients] = of(n)
	}
	for clients, n := range s.Steps {
		steps[clients] = of(n)
	}
	s.Floor, s.FloorAlone, s.Trips, s.Steps, s.Burst, s.Hooks = of(s.Floor), of(s.FloorAlone), trips, steps, of(s.Burst), of(s.Hooks)
	return s
}

// Measurement is one of them.
type Measurement struct {
	Name string
	Once bool // once in a program, not in each repetition
	Run  func(ctx context.Context, b *Bench) error
}

// All are the measurements, in the order in which a repetition makes them.
var All = []Measurement{
	{Name: "raw", Run: Raw},
	{Name: "floors", Run: Floors},
	{Name: "burst", Run: Burst},
	{Name: "trips", Run: Trips},
	{Name: "steps", Run: Steps},
	{Name: "hooks", Run: Hooks},
	{Name: "fan-in", Run: FanIn},
	{Name: "resume", Run: Resume},
	{Name: "turns", Run: Turns},
	{Name: "steady", Run: Steady},
	{Name: "idle", Once: true, Run: Idle},
}

// Close ends what measurements left for each other.
func (b *Bench) Close() error {
	if b.fed == nil {
		return nil
	}
	r := b.fed
	b.fed = nil
	return r.close()
}
