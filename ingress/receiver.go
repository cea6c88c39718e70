package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/mapping"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrSourceNotFound says that no source of this name is configured.
var ErrSourceNotFound = errors.New("no such source")

// errBacklog says that a run has no room for more. It is nothing but engine.ErrUnavailable to who answers the sender.
var errBacklog = fmt.Errorf("the backlog of the run is full: %w", engine.ErrUnavailable)

// Reasons for which an event is ignored that the inbox does not have.
const (
	ReasonUnwanted inbox.Reason = "unwanted" // it does not meet the conditions of its source
	ReasonUnmapped inbox.Reason = "unmapped" // it lacks what the mapping reads, or that can be no run, signal or hook
)

// Receiver takes events in. It is safe for concurrent use.
type Receiver struct {
	sources map[string]*source
	box     *inbox.Inbox
	clock   func() time.Time
	limits  canon.Limits
	log     zerolog.Logger
	tally   *tally
}

// Options are what a Receiver works with beside its sources.
type Options struct {
	Inbox  *inbox.Inbox     // required by Receive and Foresee
	Clock  func() time.Time // default time.Now: signatures are as old as it says
	Logger zerolog.Logger   // gets what senders are not told, and nothing of what they send
	// PayloadBytes and PayloadDepth bound bodies as the engine bounds payloads; zero is its default.
	PayloadBytes, PayloadDepth int
}

// New makes a receiver of the sources of a configuration.
func New(c *Config, o Options) *Receiver {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Receiver{
		sources: c.sources, box: o.Inbox, clock: o.Clock, log: o.Logger, tally: newTally(),
		limits: canon.Limits{MaxBytes: o.PayloadBytes, MaxDepth: o.PayloadDepth},
	}
}

// Answer is what became of a verified request.
type Answer struct {
	inbox.Result
	Status    int    // of HTTP, as the source is configured
	Challenge string // of a handshake, to be sent back; then there is no result
	SecretID  string // which secret it was signed with; empty for an unverified source
}

// Receive verifies a request, maps it and gives it to its run or the inbox. What comes back without an error is durable.
// Nothing is read of the body before it is verified.
//
// Errors: ErrSourceNotFound; ErrMediaType; *SignatureError; for a verified body that is no payload *engine.PayloadError and
// engine.ErrPayloadTooLarge; those of Request.Admit; *inbox.ConflictError for another event of the same identity; engine.ErrUnavailable, and only
// that for what passes: also for a run whose backlog is full, since a sender may take a 4xx as final.
func (r *Receiver) Receive(ctx context.Context, name string, req *Request) (Answer, error) {
	s, ok := r.sources[name]
	if !ok {
		return Answer{}, ErrSourceNotFound
	}
	a, err := r.receive(ctx, s, req)
	r.tally.count(name, a, err)
	return a, err
}

func (r *Receiver) receive(ctx context.Context, s *source, req *Request) (Answer, error) {
	read, err := s.read(req, r.clock())
	a := Answer{Status: s.status, SecretID: read.secretID, Challenge: read.challenge}
	if err != nil || read.challenge != "" {
		return a, err
	}
	target, err := s.mapping.Target(&mapping.Message{Header: req.Header, Body: read.body}, r.limits)
	if a.Reason = unmapped(err); a.Reason != "" {
		if a.Reason == ReasonUnmapped {
			r.log.Warn().Str("source", s.name).Str("why", err.Error()).Msg("an event cannot be mapped to a run: it is ignored")
		}
		a.Outcome = inbox.Ignored
		return a, nil
	}
	if err != nil {
		return a, err
	}
	a.Result, err = r.box.Receive(ctx, s.message(target), s.policy())
	if errors.Is(err, engine.ErrBacklogFull) {
		err = errBacklog
	}
	return a, err
}

// unmapped says why an event is ignored that the mapping refuses, if it is.
func unmapped(err error) inbox.Reason {
	_, lacks := errors.AsType[*mapping.Error](err)
	_, invalid := errors.AsType[*spec.InvalidError](err)
	switch {
	case errors.Is(err, mapping.ErrUnwanted):
		return ReasonUnwanted
	case lacks, invalid:
		return ReasonUnmapped
	}
	return ""
}

func (s *source) message(t mapping.Target) inbox.Message {
	return inbox.Message{
		Namespace: t.Namespace, Source: s.name, ID: mapping.Identity(s.name, t.EventID), Kind: inbox.Kind(t.Kind), RunID: t.Run,
		Name: t.Name, Payload: t.Payload,
	}
}

func (s *source) policy() inbox.Policy { return inbox.Policy{Hold: s.hold, KeepConflicts: s.keep} }

// reading is a request that was verified.
type reading struct {
	secretID  string
	body      []byte // JSON
	challenge string
}

// read verifies a request and takes its JSON out.
func (s *source) read(req *Request, now time.Time) (reading, error) {
	form, err := req.isForm(s.form)
	if err != nil {
		return reading{}, err
	}
	var in reading
	if in.secretID, err = s.verify(req, now); err != nil {
		return reading{}, err
	}
	if req.Admit != nil {
		if err := req.Admit(s.mapping.Namespace(), s.verifier != nil); err != nil {
			return in, err
		}
	}
	if in.body, err = req.json(form); err != nil {
		return in, err
	}
	if s.hello {
		in.challenge = challenge(in.body)
	}
	return in, nil
}

// maxChallenge bounds what is sent back.
const maxChallenge = 255

// challenge is the text that Slack wants back before it sends events to a URL; empty for anything else.
func challenge(body []byte) string {
	if len(body) > 4096 {
		return ""
	}
	var hello struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if _, err := canon.Parse(body, canon.Limits{}); err != nil || json.Unmarshal(body, &hello) != nil {
		return ""
	}
	if hello.Type != "url_verification" || len(hello.Challenge) > maxChallenge || spec.CheckName("challenge", hello.Challenge) != nil {
		return ""
	}
	return hello.Challenge
}
