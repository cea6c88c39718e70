package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/spec"
)

// page is what a command shows to people. Every text goes through Plain.
type page struct {
	out io.Writer
	now time.Time
	tab *tabwriter.Writer
	err error
}

func newPage(env Env) *page {
	return &page{out: env.Stdout, now: env.Now(), tab: tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)}
}

// row writes the cells of a table.
func (p *page) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = Plain(dashed(cell))
	}
	p.keep(fmt.Fprintln(p.tab, strings.TrimRight(strings.Join(cells, "\t"), "\t ")))
}

// say ends a table and writes a line.
func (p *page) say(format string, args ...any) {
	p.keep(0, p.tab.Flush())
	p.keep(fmt.Fprintln(p.out, Plain(fmt.Sprintf(format, args...))))
}

func (p *page) keep(_ int, err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *page) flush() error {
	p.keep(0, p.tab.Flush())
	return p.err
}

// more says how to go on.
func (p *page) more(cursor string) {
	if cursor != "" {
		p.say("more: --cursor %s", cursor)
	}
}

func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// at is a time as people want it: the clock for today, the day before that, in their own zone.
func (p *page) at(t time.Time) string {
	t, now := t.Local(), p.now.Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

func (p *page) atOrNone(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return p.at(*t)
}

// age is how long ago something was, in its largest unit.
func (p *page) age(t time.Time) string {
	d := p.now.Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// cut shortens text for a cell of a list; --json has all of it.
func cut(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes-1]) + "…"
}

// compact is JSON without white space between its parts.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}

func labelled(all spec.Labels) string {
	pairs := make([]string, 0, len(all))
	for key, value := range all {
		pairs = append(pairs, key+"="+value)
	}
	sort.Strings(pairs)
	return strings.Join(pairs, " ")
}
