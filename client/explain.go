package client

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Explanation says why a run waits, or does not go on.
type Explanation struct {
	Answer
	RunID       spec.RunID      `json:"run_id"`
	Workflow    string          `json:"workflow"`
	Version     string          `json:"version"`
	Status      string          `json:"status"`
	Generation  int             `json:"generation"`
	Because     []string        `json:"because"` // a sentence for each reason, the weightiest first
	CodeLive    bool            `json:"code_live"`
	Blocked     *Blockage       `json:"blocked,omitempty"`
	NextWakeAt  *time.Time      `json:"next_wake_at,omitempty"` // when a turn is due; past: it is due
	Waiting     []Waited        `json:"waiting"`
	Unread      []UnreadSignals `json:"unread"`
	NearMisses  []NearMiss      `json:"near_misses"`
	DeadLetters []PendingLetter `json:"dead_letters"`
	Refusals    []Refusal       `json:"refusals,omitempty"` // the last ones, for who may read the audit trail
	ReadAt      time.Time       `json:"read_at"`            // by the database's clock
}

// Blockage is why workflow code is not called, or was called in vain.
type Blockage struct {
	Cause     string     `json:"cause"`
	Diagnosis string     `json:"diagnosis"`
	Attempts  int        `json:"attempts"`
	RetryAt   *time.Time `json:"retry_at,omitempty"`
}

// Waited is one thing that a run waits for, and how far it is.
type Waited struct {
	Waiting
	Attempts  int        `json:"attempts,omitempty"`
	Failures  int        `json:"failures,omitempty"`
	LastError string     `json:"last_error,omitempty"`
	UnderWay  bool       `json:"under_way,omitempty"`
	Held      bool       `json:"held,omitempty"` // it waits for a decision about its dead letter
	NextTryAt *time.Time `json:"next_try_at,omitempty"`
}

// UnreadSignals are accepted signals of one name that no wait has read.
type UnreadSignals struct {
	Name     string    `json:"name"`
	Count    int       `json:"count"`
	OldestAt time.Time `json:"oldest_at"`
}

// NearMiss is a name that was sent, beside the one that was probably meant.
type NearMiss struct {
	Sent  string `json:"sent"`
	Meant string `json:"meant"`
	Where string `json:"where"` // unread, dead_letter or refused
}

// PendingLetter is a dead letter of the run that nobody has decided about.
type PendingLetter struct {
	ID     string    `json:"letter_id"`
	Kind   string    `json:"kind"` // step or message
	Name   string    `json:"name"`
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
}

// Refusal is a message to the run that was refused.
type Refusal struct {
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Name     string    `json:"name,omitempty"`
	Identity string    `json:"identity,omitempty"`
	Verdict  Verdict   `json:"verdict"`
	Why      string    `json:"why"` // a code
	Actor    string    `json:"actor,omitempty"`
}

// Explain tells why a run waits, or does not go on. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Explain(ctx context.Context, run spec.RunID) (Explanation, error) {
	var x Explanation
	at, err := runPath(run, "/explain")
	if err != nil {
		return x, err
	}
	return x, c.do(ctx, request{method: "GET", path: at}, &x)
}
