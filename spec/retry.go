package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// The limits of a RetryPolicy.
const (
	MaxAttempts     = 1_000_000
	MaxRetryDelay   = 30 * 24 * time.Hour
	MaxNonRetryable = 64 // codes
)

// RetryPolicy says whether and when a step is tried again after an attempt failed. It is data: the same attempt of the
// same step of the same run always waits for the same time. The zero value is one attempt.
type RetryPolicy struct {
	// Attempts is how many attempts may fail before the step has failed; 0 and 1 are one attempt, at most MaxAttempts.
	Attempts int
	// Delay is the pause after the first failed attempt, at most MaxRetryDelay. 0 tries again at once.
	Delay time.Duration
	// Factor multiplies the pause after each further attempt; 0 and 1 leave it as it is, at most 100.
	Factor float64
	// MaxDelay bounds the pause; 0 is MaxRetryDelay.
	MaxDelay time.Duration
	// Jitter, from 0 to 1, is the part of the pause that is taken off by chance, so that many steps which failed together
	// do not come back together. The chance is a function of the run, the step and the attempt.
	Jitter float64
	// NonRetryable are codes of errors that end the step at once.
	NonRetryable []string
	// Hold keeps a step open whose attempts are used up: it waits among the dead letters until somebody replays it, or
	// discards it and lets it fail. Without Hold it fails at once.
	Hold bool
}

// NoRetry is one attempt.
func NoRetry() RetryPolicy { return RetryPolicy{Attempts: 1} }

// FixedRetry pauses for the same time after each failed attempt.
func FixedRetry(attempts int, delay time.Duration) RetryPolicy {
	return RetryPolicy{Attempts: attempts, Delay: delay}
}

// ExponentialRetry doubles the pause after each failed attempt, from first up to max, and takes up to a fifth off by chance.
func ExponentialRetry(attempts int, first, max time.Duration) RetryPolicy {
	return RetryPolicy{Attempts: attempts, Delay: first, Factor: 2, MaxDelay: max, Jitter: 0.2}
}

// WithNonRetryable adds codes of errors that end the step at once.
func (p RetryPolicy) WithNonRetryable(codes ...string) RetryPolicy {
	p.NonRetryable = append(slices.Clone(p.NonRetryable), codes...)
	return p
}

// WithHold keeps the step among the dead letters when its attempts are used up: see Hold.
func (p RetryPolicy) WithHold() RetryPolicy {
	p.Hold = true
	return p
}

// Validate returns an *InvalidError that names the first bad field.
func (p RetryPolicy) Validate() error {
	switch {
	case p.Attempts < 0 || p.Attempts > MaxAttempts:
		return &InvalidError{Field: "retry/attempts", Rule: fmt.Sprintf("must be from 0 to %d", MaxAttempts)}
	case p.Delay < 0 || p.Delay > MaxRetryDelay:
		return &InvalidError{Field: "retry/delay", Rule: fmt.Sprintf("must be from 0 to %s", MaxRetryDelay)}
	case p.MaxDelay < 0 || p.MaxDelay > MaxRetryDelay:
		return &InvalidError{Field: "retry/max_delay", Rule: fmt.Sprintf("must be from 0 to %s", MaxRetryDelay)}
	case !(p.Factor >= 0 && p.Factor <= 100):
		return &InvalidError{Field: "retry/factor", Rule: "must be from 0 to 100"}
	case !(p.Jitter >= 0 && p.Jitter <= 1):
		return &InvalidError{Field: "retry/jitter", Rule: "must be from 0 to 1"}
	case len(p.NonRetryable) > MaxNonRetryable:
		return &InvalidError{Field: "retry/non_retryable", Rule: fmt.Sprintf("must hold at most %d codes", MaxNonRetryable)}
	}
	for i, code := range p.NonRetryable {
		if err := CheckName(fmt.Sprintf("retry/non_retryable/%d", i), code); err != nil {
			return err
		}
	}
	return nil
}

// Allows says that another attempt may follow when failed ones have failed, the last of them with a code, which may be
// empty.
func (p RetryPolicy) Allows(failed int, code string) bool {
	return failed < max(p.Attempts, 1) && (code == "" || !slices.Contains(p.NonRetryable, code))
}

// Pause is the time between the failed-th failed attempt, counted from 1, and the next one. The seed names the step.
func (p RetryPolicy) Pause(failed int, seed string) time.Duration {
	limit := p.MaxDelay
	if limit == 0 {
		limit = MaxRetryDelay
	}
	pause := float64(p.Delay)
	for range failed - 1 {
		if p.Factor <= 1 || pause >= float64(limit) {
			break
		}
		pause *= p.Factor
	}
	pause = min(pause, float64(limit))
	return time.Duration(pause * (1 - p.Jitter*chance(failed, seed)))
}

// chance is a number from 0 to 1, the same for the same arguments on every machine.
func chance(failed int, seed string) float64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%s", failed, seed)
	x := h.Sum64() // the low bits of FNV are well mixed, the high ones of short texts are not
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// storedPolicy is the JSON form: durations are Go duration strings.
type storedPolicy struct {
	Attempts     int      `json:"attempts,omitempty"`
	Delay        string   `json:"delay,omitempty"`
	Factor       float64  `json:"factor,omitempty"`
	MaxDelay     string   `json:"max_delay,omitempty"`
	Jitter       float64  `json:"jitter,omitempty"`
	NonRetryable []string `json:"non_retryable,omitempty"`
	Hold         bool     `json:"hold,omitempty"`
}

// MarshalJSON writes durations as Go duration strings.
func (p RetryPolicy) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedPolicy{
		Attempts: p.Attempts, Delay: written(p.Delay), Factor: p.Factor, MaxDelay: written(p.MaxDelay), Jitter: p.Jitter,
		NonRetryable: p.NonRetryable, Hold: p.Hold,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote. A member that it does not know is an error.
func (p *RetryPolicy) UnmarshalJSON(data []byte) error {
	var s storedPolicy
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return err
	}
	delay, err := read(s.Delay)
	if err != nil {
		return err
	}
	maxDelay, err := read(s.MaxDelay)
	if err != nil {
		return err
	}
	*p = RetryPolicy{
		Attempts: s.Attempts, Delay: delay, Factor: s.Factor, MaxDelay: maxDelay, Jitter: s.Jitter,
		NonRetryable: s.NonRetryable, Hold: s.Hold,
	}
	return nil
}

func written(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func read(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}
