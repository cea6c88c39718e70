package app

import (
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
)

// UsageError says that the arguments make no command.
type UsageError struct{ text string }

// Error says what is wrong and where to read on.
func (e *UsageError) Error() string { return e.text + "; see flowgate --help" }

// SettingError says which setting keeps a command from starting, and what to do about it.
type SettingError struct {
	Setting string // name of the environment variable; empty when it is about a flag alone
	Flag    string // such as "--listen"
	Rule    string // never holds the value: it may be a secret
}

// Error names the setting both ways.
func (e *SettingError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("%s: %s", e.Flag, e.Rule)
	}
	return fmt.Sprintf("%s (%s): %s", e.Setting, e.Flag, e.Rule)
}

// RefusedError is the refusal of a gateway that a command asked.
type RefusedError struct {
	Verdict engine.Verdict
	Text    string
}

// Error is what the gateway said.
func (e *RefusedError) Error() string { return e.Text }

// The exit codes. Those from 3 to 7 are the verdicts of a gateway, or a database, that a command asked.
const (
	exitDone     = 0
	exitFault    = 1
	exitUsage    = 2 // wrong arguments or settings; verdict invalid
	exitUnknown  = 3
	exitDenied   = 4
	exitBusy     = 5 // also when no gateway answers: try again later
	exitConflict = 6
	exitGone     = 7
	exitDiffers  = 8 // verify found rows that are not what the events say
)

// ExitCode is the exit code of a program whose Run returned err: 0 for nil, 2 for wrong arguments or settings, 1 for a
// part that failed. Of a command that asks a gateway it is the verdict: invalid 2, unknown 3, denied 4, busy 5 (also
// when nobody answers), conflict 6, gone 7. verify has 8 for differences, and 3 for a run that is not there.
func ExitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return verdictCode(refused.Verdict)
	}
	if _, ok := errors.AsType[*DifferencesError](err); ok {
		return exitDiffers
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*SettingError](err); ok {
		return exitUsage
	}
	return exitFault
}

func verdictCode(v engine.Verdict) int {
	switch v {
	case engine.VerdictAccepted, engine.VerdictDuplicate:
		return exitDone
	case engine.VerdictInvalid:
		return exitUsage
	case engine.VerdictUnknown:
		return exitUnknown
	case engine.VerdictDenied:
		return exitDenied
	case engine.VerdictBusy:
		return exitBusy
	case engine.VerdictConflict:
		return exitConflict
	case engine.VerdictGone:
		return exitGone
	}
	return exitFault
}
