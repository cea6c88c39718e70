package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Record is all that is stored of one run: its row, the rows beside it, and its events.
type Record struct {
	Run     history.Run
	Signals map[spec.SignalID]history.Signal
	Hooks   map[spec.HookID]history.Hook
	Updates map[spec.UpdateID]history.Update
	Tasks   map[history.TaskKey]*TaskRow
	Letters []LetterRow
	Events  []history.Event
}

// Record gives what the model holds of a run; false when there is no such run. It is not a copy.
func (m *Model) Record(key history.RunKey) (Record, bool) {
	r, ok := m.runs[key]
	if !ok {
		return Record{}, false
	}
	return Record{
		Run: r.run, Signals: r.signals, Hooks: r.hooks, Updates: r.updates, Tasks: r.tasks, Letters: r.letters, Events: r.events,
	}, true
}

// Asleep says that the run waits for something to happen: no turn of it is due at now.
func (r Record) Asleep(now time.Time) bool {
	wake := r.Run.WakeAt
	return r.Run.Status == history.Running && (wake == nil || wake.After(now) && wake.After(r.Run.UpdatedAt))
}

// Differences lists where rows are not what the events say, by the fold and by a plain reading of them. A time that is not
// before any of the events tells what is due.
func (r Record) Differences(now time.Time) []string {
	p := history.NewProjection(r.Run.Key)
	for _, e := range r.Events {
		p.Apply(e)
	}
	p.CompareRun(r.Run, now, 0)
	for _, s := range r.Signals {
		p.CompareSignal(s)
	}
	for _, h := range r.Hooks {
		p.CompareHook(history.HookRow{Hook: h, Namespace: r.Run.Key.Namespace, Labels: h.Metadata.Labels})
	}
	for _, u := range r.Updates {
		p.CompareUpdate(u)
	}
	for _, t := range r.Tasks {
		p.CompareTask(t.Task)
	}
	var found []string
	all, _ := p.Finish()
	for _, d := range all {
		found = append(found, d.String())
	}
	return found
}

// Lines writes everything that is stored, one row or event per line, so that records of two drivers can be compared
// and shown side by side. What chance decides is left out: the tokens that were minted, and where code panicked.
func (r Record) Lines() ([]string, error) {
	lines := []string{runLine(r.Run)}
	for _, s := range r.Signals {
		lines = append(lines, signalLine(s))
	}
	for _, h := range r.Hooks {
		lines = append(lines, hookLine(h))
	}
	for _, u := range r.Updates {
		lines = append(lines, updateLine(u))
	}
	for _, t := range r.Tasks {
		lines = append(lines, t.line())
	}
	for _, l := range r.Letters {
		lines = append(lines, l.line())
	}
	slices.Sort(lines[1:])
	for _, e := range r.Events {
		line, err := EventLine(e)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func runLine(r history.Run) string {
	return fmt.Sprintf("run %s %s@%s spec %.4x input %.4x %v %s generation %d from #%d next #%d backlog %d wake %s "+
		"cancel %s #%d started %s updated %s closed %s block %d %q %q",
		r.Key.RunID, r.Workflow, r.Version, r.SpecDigest[:], r.InputDigest[:], r.Labels, r.Status, r.Generation, r.FirstSeq,
		r.NextSeq, r.Backlog, Stamp(r.WakeAt), Stamp(r.CancelRequestedAt), r.CancelSeq, Stamp(&r.StartedAt), Stamp(&r.UpdatedAt),
		Stamp(r.ClosedAt), r.BlockAttempts, r.BlockCause, diagnosis(r.BlockDiagnosis))
}

func signalLine(s history.Signal) string {
	by := "nobody"
	if c := s.ConsumedBy; c != nil {
		by = fmt.Sprintf("%s of generation %d", c.WaitID, c.Generation)
	}
	return fmt.Sprintf("signal %s %s %.4x #%d at %s from %q %q consumed by %s",
		s.ID, s.Name, s.Digest[:], s.Seq, Stamp(&s.ReceivedAt), s.Source, s.Actor, by)
}

func hookLine(h history.Hook) string {
	g := grant(h.Grant)
	return fmt.Sprintf("hook %s %s %s %.4x created %s expires %s resolved %s #%d by %q %q token %.4x %q %q %x asks %v",
		h.ID, h.Name, h.State, h.PayloadDigest[:], Stamp(&h.CreatedAt), Stamp(h.ExpiresAt), Stamp(h.ResolvedAt),
		h.ResolvedSeq, h.Source, h.Actor, g.Digest[:], g.DigestKey, g.MintKey, g.Nonce, h.Metadata)
}

func updateLine(u history.Update) string {
	return fmt.Sprintf("update %s %s %.4x #%d at %s from %q %q %s %s #%d",
		u.ID, u.Name, u.Digest[:], u.Seq, Stamp(&u.ReceivedAt), u.Source, u.Actor, u.State, Stamp(u.ResolvedAt), u.ResolvedSeq)
}

// grant leaves a host's token as it is, and of a minted one the keys.
func grant(g history.TokenGrant) history.TokenGrant {
	if g.MintKey != "" {
		g.Digest, g.Nonce = history.TokenDigest{}, nil
	}
	return g
}

func diagnosis(text string) string {
	if strings.HasPrefix(text, Panicked) {
		return Panicked
	}
	return text
}

// EventLine is an event in one line, as stored.
func EventLine(e history.Event) (string, error) {
	switch d := e.Data.(type) {
	case *history.HookCreated:
		shown := *d
		shown.Grant = grant(d.Grant)
		e.Data = &shown
	case *history.RunContinued:
		shown := *d
		shown.Hooks = slices.Clone(d.Hooks)
		for i := range shown.Hooks {
			shown.Hooks[i].Grant = grant(shown.Hooks[i].Grant)
		}
		e.Data = &shown
	case *history.RunBlocked:
		shown := *d
		shown.Diagnosis = diagnosis(d.Diagnosis)
		e.Data = &shown
	}
	enc, err := history.Encode(e)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(fmt.Sprintf("%d #%d %s at %s %s %s",
		e.Generation, e.Seq, enc.Type, e.At.UTC().Format(time.TimeOnly+".999999"), enc.Data, enc.Payload)), nil
}
