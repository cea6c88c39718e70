package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// report is what the program prints.
type report struct {
	Peers []result `json:"peers"`
}

// result are the figures of one peer, or the error that left none. A figure that cannot be had is left out.
type result struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Burst is the rate of runs from the first signal to the last completion, of runs parked before.
	Burst float64 `json:"burst_runs_per_s,omitempty"`
	// Park is the rate of runs started until all of them wait.
	Park float64 `json:"park_per_s,omitempty"`
	// RoundTrip is the time from the call that signals to the committed completion, by runs in flight.
	RoundTrip map[string]percentiles `json:"roundtrip_ms,omitempty"`
	// Receipt is the median time that the call takes, with one run in flight.
	Receipt float64 `json:"receipt_ms_p50_c1,omitempty"`
	costs           // per run of the burst
	// Steps are the figures of stepsJob, nil for a peer without steps.
	Steps *lives `json:"three_steps,omitempty"`
	Note  string `json:"note"`
	Error string `json:"error,omitempty"`
}

// percentiles are times in milliseconds.
type percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

func (r report) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

func (r report) writeTable(w io.Writer) error {
	if err := r.writeSignals(w); err != nil {
		return err
	}
	if err := r.writeSteps(w); err != nil {
		return err
	}
	for _, p := range r.Peers {
		text := p.Note
		if p.Error != "" {
			text = "ERROR: " + p.Error
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", p.Name, text); err != nil {
			return err
		}
	}
	return nil
}

// table begins a table with right-aligned columns.
func table(w io.Writer, head string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, head+"\tCPU ms\tWAL B\tcommits\t")
	return t
}

func (r report) writeSignals(w io.Writer) error {
	t := table(w, "one signal\tversion\truns/s\tparked/s\t1: p50\tp99 ms\t16: p50\tp99\t64: p50\tp99\treceipt")
	for _, p := range r.Peers {
		if p.RoundTrip == nil {
			fmt.Fprintf(t, "%s\t%s\tno figures\t\n", p.Name, p.Version)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%.0f\t", p.Name, p.Version, p.Burst, p.Park)
		for _, clients := range inFlight {
			trips := p.RoundTrip[level(clients)]
			fmt.Fprintf(t, "%.2f\t%.2f\t", trips.P50, trips.P99)
		}
		fmt.Fprintf(t, "%.2f\t%s", p.Receipt, p.costs)
	}
	return t.Flush()
}

func (r report) writeSteps(w io.Writer) error {
	t := table(w, "three steps\tversion\t1: runs/s\tp50\tp99 ms\t64: runs/s\tp50\tp99")
	for _, p := range r.Peers {
		if p.Steps == nil {
			fmt.Fprintf(t, "%s\t%s\tno figures\t\n", p.Name, p.Version)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t", p.Name, p.Version)
		for _, clients := range livesInFlight {
			life := p.Steps.Life[level(clients)]
			fmt.Fprintf(t, "%.0f\t%.2f\t%.2f\t", p.Steps.PerSecond[level(clients)], life.P50, life.P99)
		}
		fmt.Fprint(t, p.Steps.costs)
	}
	return t.Flush()
}

// String is the end of a line of a table.
func (c costs) String() string {
	return fmt.Sprintf("%s\t%s\t%s\t\n", optional("%.2f", c.CPU), optional("%.0f", c.WAL), optional("%.2f", c.Commits))
}

func optional(format string, f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf(format, *f)
}

// rounded keeps what is significant of a figure.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }
