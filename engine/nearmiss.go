package engine

import (
	"strings"
	"unicode"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/spec"
)

// Where a name was sent that is near another one.
const (
	nearUnread  = "unread"
	nearLetter  = "dead_letter"
	nearRefused = "refused"
)

// maxNearNames bounds the names of each side that are compared.
const maxNearNames = 100

// nearMisses are the unread signals with a name that is near one which the run waits for, and what is not delivered with a
// name near a declared one, or near that of an open hook.
func (x Explanation) nearMisses(declared spec.WorkflowSpec) []NearMiss {
	var awaited, hooks, signals []string
	for _, w := range x.Waiting {
		switch w.Kind {
		case "signal":
			awaited = append(awaited, w.Name)
		case "hook":
			hooks = append(hooks, w.ID)
		}
	}
	for _, s := range declared.Signals {
		signals = append(signals, s.Name)
	}
	found := &nearNames{known: map[NearMiss]bool{}, list: []NearMiss{}}
	for _, u := range x.Unread {
		found.add(u.Name, awaited, nearUnread)
	}
	for _, l := range x.DeadLetters {
		if l.Kind == "message" {
			found.add(l.Name, signals, nearLetter)
			found.add(l.Name, hooks, nearLetter)
		}
	}
	for _, r := range x.Refusals {
		if r.Kind == db.AuditSignal && r.Why == whySignal {
			found.add(r.Name, signals, nearRefused)
		}
	}
	return found.list
}

// nearNames collects near misses, each once.
type nearNames struct {
	known map[NearMiss]bool
	list  []NearMiss
	asked int
}

// add compares a name with those that may have been meant. A name that is one of them is no near miss.
func (n *nearNames) add(sent string, meant []string, where string) {
	if n.asked++; n.asked > maxNearNames {
		return
	}
	var near []NearMiss
	for i, name := range meant {
		if name == sent {
			return
		}
		if i < maxNearNames && isNear(sent, name) {
			near = append(near, NearMiss{Sent: sent, Meant: name, Where: where})
		}
	}
	for _, m := range near {
		if !n.known[m] {
			n.known[m] = true
			n.list = append(n.list, m)
		}
	}
}

// isNear says that two different names are the same but for case, spaces and punctuation, or for one letter in four, and
// two at most.
func isNear(a, b string) bool {
	x, y := letters(a), letters(b)
	if string(x) == string(y) {
		return len(x) > 0
	}
	allowed := min(2, max(len(x), len(y))/4)
	return distance(x, y, allowed) <= allowed
}

// letters are the letters and digits of a name, without their case.
func letters(name string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name))
}

// distance is how many letters have to be changed, left out, put in, or exchanged with the next one, to make one name of the
// other. What is above the limit is only known to be so.
func distance(a, b []rune, limit int) int {
	if len(a) > len(b)+limit || len(b) > len(a)+limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
