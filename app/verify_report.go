package app

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/flowgate-go/flowgate/db"
)

// verifyReport prints what a verification finds as it finds it, and on the error stream how far it is.
type verifyReport struct {
	out, progress io.Writer
	json          bool
	said          time.Time
	all           db.Verified // but for Found
	listed        int
}

func newVerifyReport(in invocation, asJSON bool) *verifyReport {
	return &verifyReport{out: in.stdout, progress: in.stderr, json: asJSON, said: time.Now()}
}

// differenceLine is a difference in JSON. Either events and stored are there, or text is.
type differenceLine struct {
	Namespace string  `json:"namespace"`
	RunID     string  `json:"run_id"`
	Row       string  `json:"row"`             // run, event, signal, hook or due
	ID        string  `json:"id,omitempty"`    // of the signal or hook; seq of the event; number of a missing run
	Field     string  `json:"field,omitempty"` // column; absent when it is about the row
	Events    *string `json:"events,omitempty"`
	Stored    *string `json:"stored,omitempty"`
	Text      string  `json:"text,omitempty"`
}

// summaryLine is the last line in JSON.
type summaryLine struct {
	Runs        int   `json:"runs"`
	Events      int64 `json:"events"`
	Differences int   `json:"differences"`
	Listed      int   `json:"listed"`
}

// page prints the differences of a page.
func (r *verifyReport) page(page db.Verified) error {
	r.all.Runs += page.Runs
	r.all.Events += page.Events
	r.all.Differences += page.Differences
	r.listed += len(page.Found)
	for _, d := range page.Found {
		if err := r.difference(d); err != nil {
			return err
		}
	}
	if time.Since(r.said) >= progressEvery {
		r.said = time.Now()
		fmt.Fprintf(r.progress, "%s so far\n", r.words())
	}
	return nil
}

func (r *verifyReport) difference(d db.Difference) error {
	if !r.json {
		_, err := fmt.Fprintln(r.out, d)
		return err
	}
	line := differenceLine{
		Namespace: string(d.Run.Namespace), RunID: string(d.Run.RunID), Row: string(d.Row), ID: d.ID, Field: d.Field, Text: d.Text,
	}
	if d.Text == "" {
		line.Events, line.Stored = &d.Events, &d.Stored
	}
	return json.NewEncoder(r.out).Encode(line)
}

// summary prints the last line.
func (r *verifyReport) summary() error {
	if r.json {
		return json.NewEncoder(r.out).Encode(summaryLine{r.all.Runs, r.all.Events, r.all.Differences, r.listed})
	}
	words := r.words()
	if r.listed < r.all.Differences {
		words += fmt.Sprintf(", of which %d are listed", r.listed)
	}
	_, err := fmt.Fprintln(r.out, words)
	return err
}

func (r *verifyReport) words() string {
	return fmt.Sprintf("%s, %s verified, %s",
		plural(r.all.Runs, "run"), plural(int(r.all.Events), "event"), plural(r.all.Differences, "difference"))
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
