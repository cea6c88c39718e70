package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

// maxReasons bounds the sentences about what a run waits for; what else is open is counted.
const maxReasons = 20

// because are the reasons as sentences, the weightiest first.
func (x Explanation) because(run history.Run) []string {
	if run.Status.Ended() {
		return x.whyEnded(run)
	}
	var why []string
	if b := x.Blocked; b != nil {
		why = append(why, b.sentence(x.ReadAt))
	}
	due := x.NextWakeAt != nil && !x.NextWakeAt.After(x.ReadAt)
	if !x.CodeLive {
		why = append(why, fmt.Sprintf("No live process registers workflow %s version %s, so its code is not called.", x.Workflow, x.Version))
	} else if due && x.Blocked == nil {
		why = append(why, "A turn is due since "+clockTime(*x.NextWakeAt)+" and is about to be taken.")
	}
	if run.CancelRequestedAt != nil {
		why = append(why, "Its cancelling was asked for at "+clockTime(*run.CancelRequestedAt)+"; its code decides how it ends.")
	}
	for _, m := range x.NearMisses {
		why = append(why, m.sentence())
	}
	for i, w := range x.Waiting {
		if i == maxReasons {
			why = append(why, fmt.Sprintf("It waits for %d more things.", len(x.Waiting)-i))
			break
		}
		why = append(why, w.sentence(x.ReadAt))
	}
	why = append(why, x.whyUnread()...)
	why = append(why, x.whyRefused()...)
	return append(why, x.whyLetters()...)
}

func (x Explanation) whyEnded(run history.Run) []string {
	said := "It is " + string(run.Status)
	if run.ClosedAt != nil {
		said += " since " + clockTime(*run.ClosedAt)
	}
	why := []string{said + " and takes no new message."}
	for _, u := range x.Unread {
		why = append(why, fmt.Sprintf("%s of %q came and %s never read.", count(u.Count, "signal"), u.Name, were(u.Count)))
	}
	return append(why, x.whyLetters()...)
}

func (b Blockage) sentence(now time.Time) string {
	said := fmt.Sprintf("Its code is blocked (%s, %s): %s.", b.Cause, count(b.Attempts, "attempt"), strings.TrimRight(b.Diagnosis, ".\n "))
	switch {
	case b.RetryAt == nil:
		return said + " It is tried again when a message comes or somebody retries it."
	case b.RetryAt.After(now):
		return said + " It is tried again at " + clockTime(*b.RetryAt) + ", or when somebody retries it."
	}
	return said + " It is about to be tried again."
}

func (m NearMiss) sentence() string {
	switch m.Where {
	case nearUnread:
		return fmt.Sprintf("It waits for signal %q, and a signal %q came, which nothing waits for: is it the same one?", m.Meant, m.Sent)
	case nearRefused:
		return fmt.Sprintf("A message %q was refused; %q was probably meant.", m.Sent, m.Meant)
	}
	return fmt.Sprintf("A message %q could not be delivered; %q was probably meant.", m.Sent, m.Meant)
}

func (w Waited) sentence(now time.Time) string {
	switch w.Kind {
	case "signal":
		return fmt.Sprintf("It waits for signal %q (wait %q)%s.", w.Name, w.ID, until(w.ExpiresAt))
	case "hook":
		return fmt.Sprintf("Hook %q is open and waits for its answer%s.", w.ID, until(w.ExpiresAt))
	case "timer":
		return fmt.Sprintf("Timer %q runs%s.", w.ID, until(w.ExpiresAt))
	case "child":
		return fmt.Sprintf("Child %q (workflow %s) has not ended.", w.ID, w.Name)
	case "call":
		return fmt.Sprintf("Its message %q to another run is not delivered%s.", w.ID, w.progress(now))
	}
	return fmt.Sprintf("Step %q (%s) is not done%s.", w.ID, w.Name, w.progress(now))
}

// progress says how far a step or a call is.
func (w Waited) progress(now time.Time) (said string) {
	if w.Failures > 0 {
		said = ": " + count(w.Failures, "attempt") + " failed"
		if w.LastError != "" {
			said += fmt.Sprintf(", the last one with %q", w.LastError)
		}
	}
	switch {
	case w.Held:
		return said + "; it waits for somebody to replay or discard its dead letter"
	case w.UnderWay:
		return said + fmt.Sprintf("; attempt %d is under way", w.Attempts)
	case w.NextTryAt == nil:
		return said
	case w.NextTryAt.After(now):
		return said + "; the next attempt is due at " + clockTime(*w.NextTryAt)
	}
	return said + "; an attempt is due since " + clockTime(*w.NextTryAt) + ", and no worker has begun it"
}

// whyUnread tells of signals that no wait asks for.
func (x Explanation) whyUnread() (why []string) {
	awaited := map[string]bool{}
	for _, w := range x.Waiting {
		awaited[w.Name] = awaited[w.Name] || w.Kind == "signal"
	}
	for _, u := range x.Unread {
		if !awaited[u.Name] {
			why = append(why, fmt.Sprintf("%s of %q came, and nothing waits for that name now.", count(u.Count, "signal"), u.Name))
		}
	}
	return why
}

func (x Explanation) whyRefused() (why []string) {
	for _, r := range x.Refusals {
		what := string(r.Kind)
		if r.Name != "" {
			what += fmt.Sprintf(" %q", r.Name)
		}
		by := ""
		if r.Actor != "" {
			by = fmt.Sprintf(" of %q", r.Actor)
		}
		why = append(why, fmt.Sprintf("At %s a %s%s was refused (%s, %s).", clockTime(r.At), what, by, r.Verdict, r.Why))
	}
	return why
}

func (x Explanation) whyLetters() (why []string) {
	for i, l := range x.DeadLetters {
		switch {
		case i == maxReasons:
			return append(why, fmt.Sprintf("%d more dead letters wait for a decision.", len(x.DeadLetters)-i))
		case l.Kind == "step":
			why = append(why, fmt.Sprintf("Dead letter %s of step %s (%s) waits for a decision.", l.ID, l.Name, l.Reason))
		case l.State == string(db.MessageHeld):
			why = append(why, fmt.Sprintf("The inbox holds a message %q for it.", l.Name))
		default:
			why = append(why, fmt.Sprintf("Message %q for it could not be delivered (%s): dead letter %s.", l.Name, l.Reason, l.ID))
		}
	}
	return why
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func until(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " until " + clockTime(*t)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
