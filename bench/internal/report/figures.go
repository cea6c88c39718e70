package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/flowgate-go/flowgate/bench/internal/load"
)

// Figures are samples by name, and remarks. A dot in a name makes an object of it in JSON: "turn_us_by_history.10". It is
// safe for concurrent use; the zero value is ready.
type Figures struct {
	mu      sync.Mutex
	samples map[string][]float64
	rounds  map[string][]int // the repetition of each sample
	round   int
	facts   map[string]string
	notes   []string
	failed  []string
	left    []string
}

// Add notes one sample of a figure. A figure is the median of its samples.
func (f *Figures) Add(name string, value float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.samples == nil {
		f.samples, f.rounds = map[string][]float64{}, map[string][]int{}
	}
	f.samples[name], f.rounds[name] = append(f.samples[name], value), append(f.rounds[name], f.round)
}

// Repeat begins the next repetition.
func (f *Figures) Repeat() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.round++
}

// inRound is a figure within one repetition, when it has samples there.
func (f *Figures) inRound(name string, round int) (float64, bool) {
	var found []float64
	for i, of := range f.rounds[name] {
		if of == round {
			found = append(found, f.samples[name][i])
		}
	}
	return load.Median(found), len(found) > 0
}

// Ratio is one figure over another, where both are known: the median of the ratios within each repetition, so that a
// machine that is slower for a while changes nothing. Figures that have no repetition in common are compared as they are.
func (f *Figures) Ratio(name, base string) (float64, bool) {
	var ratios []float64
	f.mu.Lock()
	for round := range f.round + 1 {
		v, ok := f.inRound(name, round)
		b, there := f.inRound(base, round)
		if ok && there && b != 0 {
			ratios = append(ratios, v/b)
		}
	}
	f.mu.Unlock()
	if len(ratios) > 0 {
		return load.Median(ratios), true
	}
	v, ok := f.Get(name)
	b, there := f.Get(base)
	if !ok || !there || b == 0 {
		return 0, false
	}
	return v / b, true
}

// Get is a figure: the median of its samples, when there are some.
func (f *Figures) Get(name string) (value float64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	vs := f.samples[name]
	return load.Median(vs), len(vs) > 0
}

// Span is the least and the greatest sample of a figure that has some.
func (f *Figures) Span(name string) (least, most float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Min(f.samples[name]), slices.Max(f.samples[name])
}

// Names are the figures that begin with a prefix, sorted.
func (f *Figures) Names(prefix string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for name := range f.samples {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// State records a fact that is no figure, such as a version.
func (f *Figures) State(name, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.facts == nil {
		f.facts = map[string]string{}
	}
	f.facts[name] = value
}

// Facts are the facts by name.
func (f *Figures) Facts() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.facts)
}

// Note tells something once that readers of the figures must know.
func (f *Figures) Note(format string, args ...any) { f.once(&f.notes, fmt.Sprintf(format, args...)) }

// Fail records that a result was wrong. A program with failed checks must not exit with 0.
func (f *Figures) Fail(measurement string, err error) {
	f.once(&f.failed, fmt.Sprintf("%s: %v", measurement, err))
}

// LeaveOut records that a measurement was not made.
func (f *Figures) LeaveOut(measurement, why string) { f.once(&f.left, measurement+": "+why) }

func (f *Figures) once(list *[]string, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// Failed are the results that were wrong.
func (f *Figures) Failed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.failed)
}
