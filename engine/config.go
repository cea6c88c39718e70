package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/tokens"
)

// Config is what an Engine is made of. Pool and Keys are required; the zero value of every other field is a default.
type Config struct {
	// Pool is a pool of connections to a database that db.Migrate brought up to date. The engine takes one connection
	// for accepting, one for advancing and one for listening, and some more for reads.
	Pool *pgxpool.Pool
	// Keys mint and digest the tokens of hooks. All processes on one database need the same keys:
	// while they are rotated, load a new digest key everywhere before it becomes the current one anywhere.
	Keys *tokens.Keyring
	// PublicURL is the base of links to hooks, http or https, with an optional path. Without it HookLink answers
	// ErrNoPublicURL. It is never taken from a request.
	PublicURL string
	// Logger gets what no caller is told; the zero Logger discards it. It never sees a token or a payload, but for what
	// an error of workflow code repeats in development mode.
	Logger zerolog.Logger
	// Tracer gets a span of each turn, linked to the spans under which the messages came that it took: those are known if
	// the audit trail is kept. Nil: none.
	Tracer trace.TracerProvider
	// Process names this process, uniquely among those on one database. The default is random.
	Process string
	// Random is the source of token nonces, IDs and jitter; it must be safe for concurrent use. Default crypto/rand.
	Random io.Reader
	// Clock is this process's clock, by which it ages what it caches and sleeps until the next due time; default time.Now.
	// It may be wrong, but its values must keep the monotonic reading, as those of time.Now and its Add do. What is
	// accepted or due, and in which order, the database's clock decides.
	Clock func() time.Time
	// NewID makes the IDs of runs that callers do not name. Default: UUIDv7 (RFC 9562).
	NewID func() string
	// Limits bound payloads and runs.
	Limits Limits
	// Audit keeps the audit trail: an entry for each accepted message, in the transaction of its receipt, for each refusal of
	// a known caller, soon after it, and for each token of a hook that is shown. Off, nothing is written.
	Audit bool
	// AuditKeep is how long entries of the audit trail stay; 0 is for ever. It needs no Audit.
	AuditKeep time.Duration
	// Dev is for development: another spec under a registered version replaces the stored one with a warning, and the
	// first call of a turn is made twice and must decide the same.
	Dev bool
	// CallBudget bounds one call of a workflow function; default 1 s. One that runs longer blocks its run.
	CallBudget time.Duration
	// BatchBudget bounds the calls of one transaction, which holds locks; default 250 ms. Runs that are not called
	// within it are called in the next.
	BatchBudget time.Duration
	// PollInterval is how often the database is asked for due runs without any hint, ± 20 %; default 1.5 s.
	PollInterval time.Duration
	// StepQueues are how many steps of a queue this process does at a time; default 64 for each. See InQueue.
	StepQueues map[string]int
	// StepLease is how long a step, or another task, stays with a process that says nothing of it: after that another one
	// begins it anew. It is renewed while the process lives. Default 30 s, at least 1 s.
	StepLease time.Duration
	// StepDrain is how long Run waits, once its context has ended, for the steps under way, whose contexts have ended,
	// too. Default 5 s.
	StepDrain time.Duration
	// TargetGrace is how long a message to another run is tried while there is no such run; default 1 min.
	TargetGrace time.Duration
}

// Limits bound what callers send and what one run may hold. A zero field is its default.
type Limits struct {
	PayloadBytes int           // of one payload as received; default 256 KiB
	PayloadDepth int           // nesting of one payload; default 64
	Backlog      int           // unread signals of a run; default 10,000
	WarnEvents   int64         // events of a generation from which the run is reported as long; default 10,000
	MaxEvents    int64         // events of a generation from which signals are refused; default 50,000
	OpenWaits    int           // open waits and timers of a run; default 64
	OpenHooks    int           // hooks of a run that are open, or settled and not asked about; default 1,000
	OpenUpdates  int           // accepted updates of a run that are not answered; default 1,000
	OpenTasks    int           // open steps, children and calls of a run; default 1,000
	TurnEvents   int           // events of one turn, the rest follows in the next; default 1,000
	BlockFirst   time.Duration // first back-off of a blocked run, in whole seconds; doubles; default 1 s
	BlockMax     time.Duration // longest back-off of a blocked run, in whole seconds; default 5 min
}

func (l Limits) payload() canon.Limits {
	return canon.Limits{MaxBytes: l.PayloadBytes, MaxDepth: l.PayloadDepth}
}

func (l Limits) run() history.Limits {
	d := history.DefaultLimits()
	return history.Limits{
		Backlog: or(l.Backlog, d.Backlog), WarnEvents: or(l.WarnEvents, d.WarnEvents),
		MaxEvents: or(l.MaxEvents, d.MaxEvents), OpenWaits: or(l.OpenWaits, d.OpenWaits),
		OpenHooks: or(l.OpenHooks, d.OpenHooks), OpenTasks: or(l.OpenTasks, d.OpenTasks),
		OpenUpdates:   or(l.OpenUpdates, d.OpenUpdates),
		TurnEvents:    or(l.TurnEvents, d.TurnEvents),
		BlockFirstSec: or(int(l.BlockFirst/time.Second), d.BlockFirstSec),
		BlockMaxSec:   or(int(l.BlockMax/time.Second), d.BlockMaxSec),
	}
}

func or[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// The defaults of Config.
const (
	defaultCallBudget   = time.Second
	defaultBatchBudget  = 250 * time.Millisecond
	defaultPollInterval = 1500 * time.Millisecond
	defaultStepLease    = 30 * time.Second
	defaultStepDrain    = 5 * time.Second
	defaultTargetGrace  = time.Minute
	defaultStepQueue    = 64
)

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Pool == nil:
		return c, errors.New("engine: Config.Pool is required")
	case c.Keys == nil:
		return c, errors.New("engine: Config.Keys is required")
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return newUUID(c.Random) }
	}
	if c.Process == "" {
		c.Process = newUUID(c.Random)
	}
	c.CallBudget = or(c.CallBudget, defaultCallBudget)
	c.BatchBudget = or(c.BatchBudget, defaultBatchBudget)
	c.PollInterval = or(c.PollInterval, defaultPollInterval)
	c.StepLease = max(or(c.StepLease, defaultStepLease), time.Second)
	c.StepDrain = or(c.StepDrain, defaultStepDrain)
	c.TargetGrace = or(c.TargetGrace, defaultTargetGrace)
	return c, nil
}

// newUUID makes a UUIDv7. A source of randomness that fails leaves nothing sensible to do, as with crypto/rand.
func newUUID(random io.Reader) string {
	id, err := uuid.NewV7FromReader(random)
	if err != nil {
		panic(fmt.Sprintf("engine: the source of randomness failed: %v", err))
	}
	return id.String()
}
