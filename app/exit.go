package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/flowgate-go/flowgate/app/internal/cli"
	"github.com/flowgate-go/flowgate/client"
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

// EndedError says that a run that a command waited for failed or was cancelled.
type EndedError struct{ text string }

// Error says how it ended.
func (e *EndedError) Error() string { return e.text }

// refusedBy words what came of a command that asked a gateway. A stranger's words in it do nothing to a terminal.
func refusedBy(err error) error {
	if refused, ok := errors.AsType[*client.Problem](err); ok {
		text := cli.Plain(refused.Error())
		if refused.Status == 0 { // an argument that was not sent
			return &UsageError{text: text}
		}
		if refused.Status == http.StatusUnauthorized {
			text += "; " + settingToken + " gives the credential"
		}
		return &RefusedError{Verdict: engine.Verdict(refused.Verdict), Text: text}
	}
	if bad, ok := errors.AsType[*cli.UsageError](err); ok {
		return &UsageError{text: bad.Text}
	}
	if ended, ok := errors.AsType[*cli.EndedError](err); ok {
		return &EndedError{text: ended.Error()}
	}
	if away, ok := errors.AsType[*client.UnreachableError](err); ok {
		text := fmt.Sprintf("the gateway of %s does not answer: %v", settingURL, away.Err)
		return &RefusedError{Verdict: engine.VerdictBusy, Text: cli.Plain(text)}
	}
	switch {
	case errors.Is(err, client.ErrURL):
		return setting(settingURL, "must be the http or https URL of a gateway, such as http://127.0.0.1:8080")
	case errors.Is(err, client.ErrNoGateway):
		return fmt.Errorf("%s: %w", settingURL, err)
	case errors.Is(err, context.DeadlineExceeded):
		return &RefusedError{Verdict: engine.VerdictBusy, Text: cli.Plain(err.Error())}
	}
	return err
}

// Settings of commands that ask a gateway.
const (
	settingURL   = "FLOWGATE_URL"
	settingToken = "FLOWGATE_TOKEN"
)

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
	exitEnded    = 9 // the run that was waited for failed or was cancelled
)

// ExitCode is the exit code of a program whose Run returned err: 0 for nil, 2 for wrong arguments or settings, 1 for a
// part that failed. Of a command that asks a gateway it is the verdict: invalid 2, unknown 3, denied 4, busy 5 (also
// when nobody answers), conflict 6, gone 7; 9 is for a run that was waited for and failed or was cancelled. verify has 8 for
// differences, and 3 for a run that is not there.
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
	if _, ok := errors.AsType[*EndedError](err); ok {
		return exitEnded
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
