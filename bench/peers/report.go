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
	// CPU, WAL and Commits are those of the burst, per run. CPU is of this process, which is the client too, and of the
	// server's.
	CPU     *float64 `json:"cpu_ms_per_run,omitempty"`
	WAL     *float64 `json:"wal_bytes_per_run,omitempty"`
	Commits *float64 `json:"commits_per_run,omitempty"`
	Note    string   `json:"note"`
	Error   string   `json:"error,omitempty"`
}

// percentiles are times in milliseconds.
type percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

func (r report) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

func (r report) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "peer\tversion\truns/s\tparked/s\t1: p50\tp99 ms\t16: p50\tp99\t64: p50\tp99\t"+
		"receipt\tCPU ms\tWAL B\tcommits\t")
	for _, p := range r.Peers {
		if p.Error != "" {
			fmt.Fprintf(t, "%s\t%s\tno figures\t\n", p.Name, p.Version)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%.0f\t", p.Name, p.Version, p.Burst, p.Park)
		for _, clients := range inFlight {
			trips := p.RoundTrip[level(clients)]
			fmt.Fprintf(t, "%.2f\t%.2f\t", trips.P50, trips.P99)
		}
		fmt.Fprintf(t, "%.2f\t%s\t%s\t%s\t\n", p.Receipt,
			optional("%.2f", p.CPU), optional("%.0f", p.WAL), optional("%.2f", p.Commits))
	}
	if err := t.Flush(); err != nil {
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

func optional(format string, f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf(format, *f)
}

// rounded keeps what is significant of a figure.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }
