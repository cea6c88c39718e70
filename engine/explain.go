package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Explanation says why a run stands where it stands. Its JSON is the explanation of the HTTP contract.
type Explanation struct {
	RunID       spec.RunID      `json:"run_id"`
	Workflow    string          `json:"workflow"`
	Version     string          `json:"version"`
	Status      Status          `json:"status"`
	Generation  int             `json:"generation"`
	Because     []string        `json:"because"`                // a sentence for each reason, the weightiest first
	CodeLive    bool            `json:"code_live"`              // a live process registers the workflow in this version
	Blocked     *Blockage       `json:"blocked,omitempty"`      // of a blocked run
	NextWakeAt  *time.Time      `json:"next_wake_at,omitempty"` // when a turn is due; past: it is due
	Waiting     []Waited        `json:"waiting"`                // what is open, in the order of opening
	Unread      []UnreadSignals `json:"unread"`                 // by name, those that came first in front
	NearMisses  []NearMiss      `json:"near_misses"`
	DeadLetters []HeldLetter    `json:"dead_letters"`       // of the run, that nobody has decided about; at most 200
	Refusals    []Refusal       `json:"refusals,omitempty"` // the last ones by the audit trail, at most 10; only if asked for
	ReadAt      time.Time       `json:"read_at"`            // by the database's clock
}

// ExplainRequest says which run to explain, and whether to tell who was refused.
type ExplainRequest struct {
	RunID    spec.RunID
	Refusals bool // the last refusals as well, and what follows from them
}

// Blockage is why workflow code is not called, or was called in vain.
type Blockage struct {
	Cause     string     `json:"cause"` // error, panic, over_budget, nondeterminism, no_progress, decision or history_corrupt
	Diagnosis string     `json:"diagnosis"`
	Attempts  int        `json:"attempts"`           // in a row
	RetryAt   *time.Time `json:"retry_at,omitempty"` // when it is called again without anybody's doing
}

// Waited is one thing that a run waits for, and how far it is.
type Waited struct {
	Waiting
	Attempts  int        `json:"attempts,omitempty"`    // of a step, child or call: how often it was begun
	Failures  int        `json:"failures,omitempty"`    // attempts that failed
	LastError string     `json:"last_error,omitempty"`  // of the last attempt that failed
	UnderWay  bool       `json:"under_way,omitempty"`   // an attempt is under way
	Held      bool       `json:"held,omitempty"`        // its attempts are used up, and it waits for a decision about its dead letter
	NextTryAt *time.Time `json:"next_try_at,omitempty"` // when the next attempt is due; past: it is due
}

// UnreadSignals are accepted signals of one name that no wait has consumed.
type UnreadSignals struct {
	Name     string    `json:"name"`
	Count    int       `json:"count"`
	OldestAt time.Time `json:"oldest_at"`
}

// NearMiss is a name that was sent, beside the one that was probably meant.
type NearMiss struct {
	Sent  string `json:"sent"`
	Meant string `json:"meant"`
	Where string `json:"where"` // unread, dead_letter or refused: what was sent by the name
}

// HeldLetter is a dead letter of the run: a step, or a message that the inbox holds or could not deliver.
type HeldLetter struct {
	ID     string    `json:"letter_id"`
	Kind   string    `json:"kind"`  // step or message
	Name   string    `json:"name"`  // of the step or the signal; of an answer, the ID of the hook
	State  string    `json:"state"` // held or failed; of a message held or dead
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
}

// maxRefusals bounds the refusals of an Explanation.
const maxRefusals = 10

// Refusal is a message to the run that was refused.
type Refusal struct {
	At       time.Time `json:"at"`
	Kind     AuditKind `json:"kind"`
	Name     string    `json:"name,omitempty"`
	Identity string    `json:"identity,omitempty"`
	Verdict  Verdict   `json:"verdict"`
	Why      string    `json:"why"` // a code
	Actor    string    `json:"actor,omitempty"`
}

// Explain tells why a run waits, or does not go on. It folds the events of a run that has not ended, and reads what else is
// stored about it a moment later. Errors: *InvalidError, ErrRunNotFound, ErrUnavailable.
func (h *Handle) Explain(ctx context.Context, req ExplainRequest) (Explanation, error) {
	key, err := h.key(req.RunID)
	if err != nil {
		return Explanation{}, err
	}
	state, run, err := h.e.store.State(ctx, key)
	if damaged(err) { // its row tells why it is blocked, and nobody what it waits for
		var view db.RunView
		view, err = h.e.store.ReadRun(ctx, key)
		state, run = nil, view.Run
	}
	if err != nil {
		return Explanation{}, err
	}
	trouble, err := h.e.store.ReadTrouble(ctx, key, run.Generation)
	if err != nil {
		return Explanation{}, err
	}
	x := explain(run, state, trouble)
	if x.CodeLive, err = h.e.attended(ctx, run); err != nil {
		return Explanation{}, err
	}
	if req.Refusals {
		if x.Refusals, err = h.refusals(ctx, key); err != nil {
			return Explanation{}, err
		}
	}
	auth, err := h.e.authorityOf(ctx, run.SpecDigest)
	if err != nil {
		return Explanation{}, err
	}
	x.NearMisses = x.nearMisses(auth.spec)
	x.Because = x.because(run)
	return x, nil
}

// refusals are the last refusals of messages to a run.
func (h *Handle) refusals(ctx context.Context, run history.RunKey) ([]Refusal, error) {
	entries, err := h.e.store.RunRefusals(ctx, run, maxRefusals)
	list := make([]Refusal, len(entries))
	for i, e := range entries {
		list[i] = Refusal{
			At: e.At, Kind: e.Kind, Name: e.Name, Identity: e.Identity, Verdict: e.Verdict, Why: e.Why, Actor: e.Actor,
		}
	}
	return list, err
}

// explain puts together what is known of a run. state is nil for one whose events do not fold.
func explain(run history.Run, state *history.State, t db.Trouble) Explanation {
	x := Explanation{
		RunID: run.Key.RunID, Workflow: run.Workflow, Version: run.Version, Status: run.Status, Generation: run.Generation,
		NextWakeAt: run.WakeAt, Waiting: []Waited{}, Unread: []UnreadSignals{}, NearMisses: []NearMiss{},
		DeadLetters: heldLetters(t), ReadAt: t.ReadAt,
	}
	if run.Status == StatusBlocked {
		x.Blocked = &Blockage{
			Cause: string(run.BlockCause), Diagnosis: run.BlockDiagnosis, Attempts: run.BlockAttempts, RetryAt: run.WakeAt,
		}
	}
	if state == nil {
		return x
	}
	for _, n := range state.UnreadNames() {
		x.Unread = append(x.Unread, UnreadSignals{Name: n.Name, Count: n.Count, OldestAt: n.Oldest})
	}
	if run.Status.Ended() {
		return x
	}
	progress := map[string]db.TaskProgress{}
	for _, p := range t.Tasks {
		progress[string(p.Kind)+p.ID] = p
	}
	for _, w := range waitingFor(state.Waiting()) {
		p := progress[w.Kind+w.ID]
		x.Waiting = append(x.Waiting, Waited{
			Waiting: w, Attempts: p.Attempt, Failures: p.Failures, LastError: p.LastError, UnderWay: p.Begun, Held: p.Held,
			NextTryAt: p.NextTry,
		})
	}
	return x
}

func heldLetters(t db.Trouble) []HeldLetter {
	held := []HeldLetter{}
	for _, l := range t.Letters {
		held = append(held, HeldLetter{
			ID: strconv.FormatInt(l.ID, 10), Kind: "step", Name: l.Name, State: string(l.State),
			Reason: string(l.Failure.Reason), Since: l.CreatedAt,
		})
	}
	for _, m := range t.Messages {
		held = append(held, HeldLetter{
			ID: db.MessageLetter(m.Row), Kind: "message", Name: m.Name, State: string(m.State),
			Reason: m.Reason, Since: m.ReceivedAt,
		})
	}
	return held
}
