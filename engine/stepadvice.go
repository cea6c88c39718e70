package engine

import "time"

// StepAdvice is what an error of a step's function says about the attempts to follow.
type StepAdvice struct {
	Code  string // see Coded; empty if it has none
	Final bool   // see NonRetryable
	// After is the pause that RetryAfter asked for, if Timed is set.
	After time.Duration
	Timed bool
}

// AdviceOf reads the marks of an error, as the engine does, so that the function of a step can be tested without one.
func AdviceOf(err error) StepAdvice {
	a := adviceOf(err)
	advice := StepAdvice{Code: a.code, Final: a.final, Timed: a.after != nil}
	if a.after != nil {
		advice.After = *a.after
	}
	return advice
}
