package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Encoded is the stored form of an event's content: a JSON object, and the payload's bytes as received for the kinds
// that have one.
type Encoded struct {
	Type    string
	Data    []byte
	Payload []byte
}

// DecodeError says that stored content is not an event of this version of the program. It does not repeat the content.
// Where another version may have written it, it matches ErrNewerEvent.
type DecodeError struct {
	Type string
	Err  error
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("event of type %q does not decode: %v", e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// ErrNewerEvent says that an event is of a type, or has a field, which this program does not know: a newer one wrote it.
// To fold the others would be to misread the run, so this program leaves the run to those that can read it.
var ErrNewerEvent = errors.New("a newer program wrote it")

var (
	errUnknownType  = fmt.Errorf("the type is unknown: %w", ErrNewerEvent)
	errUnknownField = fmt.Errorf("it has a field that is unknown: %w", ErrNewerEvent)
	errNoPayload    = errors.New("payload is missing")
	errMalformed    = errors.New("data is malformed")
)

// envelope is what any event may hold beside its data.
type envelope struct {
	Taken []int64       `json:"taken,omitempty"`
	Read  []spec.HookID `json:"read,omitempty"`
}

// kinds makes an empty Data of each type.
var kinds = map[Type]func() Data{
	TypeRunStarted:         func() Data { return &RunStarted{} },
	TypeRunContinued:       func() Data { return &RunContinued{} },
	TypeRunCompleted:       func() Data { return &RunCompleted{} },
	TypeRunFailed:          func() Data { return &RunFailed{} },
	TypeRunCancelRequested: func() Data { return &RunCancelRequested{} },
	TypeRunCancelled:       func() Data { return &RunCancelled{} },
	TypeRunBlocked:         func() Data { return &RunBlocked{} },
	TypeRunUnblocked:       func() Data { return &RunUnblocked{} },
	TypeSignalReceived:     func() Data { return &SignalReceived{} },
	TypeWaitOpened:         func() Data { return &WaitOpened{} },
	TypeWaitCompleted:      func() Data { return &WaitCompleted{} },
	TypeWaitTimedOut:       func() Data { return &WaitTimedOut{} },
	TypeWaitWithdrawn:      func() Data { return &WaitWithdrawn{} },
	TypeHookCreated:        func() Data { return &HookCreated{} },
	TypeHookRejected:       func() Data { return &HookRejected{} },
	TypeHookResumed:        func() Data { return &HookResumed{} },
	TypeHookDisposed:       func() Data { return &HookDisposed{} },
	TypeHookExpired:        func() Data { return &HookExpired{} },
	TypeHookClosed:         func() Data { return &HookClosed{} },
	TypeTimerStarted:       func() Data { return &TimerStarted{} },
	TypeTimerFired:         func() Data { return &TimerFired{} },
	TypeTimerCancelled:     func() Data { return &TimerCancelled{} },
	TypeStepScheduled:      func() Data { return &StepScheduled{} },
	TypeStepCompleted:      func() Data { return &StepCompleted{} },
	TypeStepFailed:         func() Data { return &StepFailed{} },
	TypeStepTimedOut:       func() Data { return &StepTimedOut{} },
	TypeStepCancelled:      func() Data { return &StepCancelled{} },
	TypeChildRequested:     func() Data { return &ChildRequested{} },
	TypeChildCompleted:     func() Data { return &ChildCompleted{} },
	TypeChildFailed:        func() Data { return &ChildFailed{} },
	TypeChildReleased:      func() Data { return &ChildReleased{} },
	TypeSignalRequested:    func() Data { return &SignalRequested{} },
	TypeCancelRequested:    func() Data { return &CancelRequested{} },
	TypeCallDelivered:      func() Data { return &CallDelivered{} },
	TypeCallFailed:         func() Data { return &CallFailed{} },
	TypeUpdateReceived:     func() Data { return &UpdateReceived{} },
	TypeUpdateCompleted:    func() Data { return &UpdateCompleted{} },
	TypeUpdateRejected:     func() Data { return &UpdateRejected{} },
	TypeUpdateOrphaned:     func() Data { return &UpdateOrphaned{} },
	TypeFactsTaken:         func() Data { return &FactsTaken{} },
}

// Encode gives the stored form of an event. It fails for what Decode would refuse: data that is not JSON, such as hook
// metadata that holds a channel, and an absent payload where one belongs. Validation refuses both before.
func Encode(e Event) (Encoded, error) {
	data, err := encodeData(e)
	if err != nil {
		return Encoded{}, fmt.Errorf("encode event of type %q: %w", e.Data.Type(), err)
	}
	enc := Encoded{Type: string(e.Data.Type()), Data: data}
	if c, ok := e.Data.(carrier); ok {
		if c.payload().IsZero() {
			return Encoded{}, fmt.Errorf("encode event of type %q: %w", e.Data.Type(), errNoPayload)
		}
		enc.Payload = c.payload().Bytes()
	}
	return enc, nil
}

func encodeData(e Event) ([]byte, error) {
	if data, ok := writePlain(e); ok {
		return data, nil
	}
	return writeAny(e)
}

// writeAny gives the data of an event of any kind. What it writes is the form of the store, which writePlain keeps to.
func writeAny(e Event) ([]byte, error) {
	body, err := json.Marshal(e.Data)
	if err != nil {
		return nil, err
	}
	if len(e.Taken) == 0 && len(e.Read) == 0 {
		return body, nil
	}
	head, err := json.Marshal(envelope{Taken: e.Taken, Read: e.Read})
	if err != nil {
		return nil, err
	}
	if bytes.Equal(body, []byte("{}")) {
		return head, nil
	}
	return append(append(head[:len(head)-1], ','), body[1:]...), nil
}

// Decode reads what Encode wrote, whole: a field that it does not know is no less an error than a missing one, because
// whoever wrote it meant something by it. Any other content yields a *DecodeError, never a panic.
func Decode(generation int, seq int64, at time.Time, enc Encoded) (Event, error) {
	refuse := func(err error) (Event, error) {
		return Event{}, &DecodeError{Type: enc.Type, Err: err}
	}
	env, data, ok := readPlain(Type(enc.Type), enc.Data)
	if !ok {
		var err error
		if env, data, err = readAny(Type(enc.Type), enc.Data); err != nil {
			return refuse(err)
		}
	}
	if c, ok := data.(carrier); ok {
		if len(enc.Payload) == 0 {
			return refuse(errNoPayload)
		}
		c.setPayload(canon.Restore(enc.Payload, payloadDigest(data)))
	}
	return Event{Generation: generation, Seq: seq, At: at.UTC(), Taken: env.Taken, Read: env.Read, Data: data}, nil
}

// readAny reads the stored data of an event of any kind, however it is spelled. It decides what is an event.
func readAny(kind Type, stored []byte) (envelope, Data, error) {
	create, ok := kinds[kind]
	if !ok {
		return envelope{}, nil, errUnknownType
	}
	env, body, err := cutEnvelope(stored)
	if err != nil {
		return envelope{}, nil, errMalformed
	}
	data := create()
	if err := readWhole(body, data); err != nil {
		return envelope{}, nil, err
	}
	return env, data, nil
}

// cutEnvelope reads the envelope, which stands before the data if there is one, and returns the data without it.
func cutEnvelope(data []byte) (env envelope, body []byte, err error) {
	if !bytes.HasPrefix(data, []byte(`{"taken":`)) && !bytes.HasPrefix(data, []byte(`{"read":`)) {
		return env, data, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	_, err = d.Token() // the brace
	end := d.InputOffset()
	for err == nil && d.More() {
		var key json.Token
		if key, err = d.Token(); err != nil {
			break
		}
		switch key {
		case "taken":
			err = d.Decode(&env.Taken)
		case "read":
			err = d.Decode(&env.Read)
		default:
			return env, append([]byte{'{'}, bytes.TrimLeft(data[end:], ", \t\r\n")...), nil
		}
		end = d.InputOffset()
	}
	return env, append([]byte{'{'}, data[end:]...), err
}

// readWhole decodes one JSON value and nothing behind it.
func readWhole(body []byte, into Data) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	switch {
	case err == nil && len(bytes.TrimSpace(body[d.InputOffset():])) == 0:
		return nil
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field "):
		return errUnknownField
	}
	return errMalformed
}

func payloadDigest(data Data) canon.Digest {
	switch d := data.(type) {
	case *RunStarted:
		return d.Digest
	case *RunContinued:
		return d.Digest
	case *RunCompleted:
		return d.Digest
	case *SignalReceived:
		return d.Digest
	case *HookResumed:
		return d.Digest
	case *StepScheduled:
		return d.Digest
	case *StepCompleted:
		return d.Digest
	case *ChildRequested:
		return d.Digest
	case *ChildCompleted:
		return d.Digest
	case *SignalRequested:
		return d.Digest
	case *UpdateReceived:
		return d.Digest
	case *UpdateCompleted:
		return d.Digest
	}
	panic("history: carrier without a digest")
}
