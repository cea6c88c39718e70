package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// composeWithin bounds how long a process waits for its database before it gives up.
const composeWithin = 10 * time.Second

// parts say what a process is made of.
type parts struct {
	log            zerolog.Logger
	registrations  []Registration
	keys           *tokens.Keyring
	credentials    credentials
	databaseURL    string
	connections    int
	databaseEnded  <-chan struct{} // of a database that ends with this process; nil for any other
	publicURL      string          // empty: the listener's address
	listen         string          // empty: no gateway
	adminListen    string          // empty: no admin listener
	trustedProxies []netip.Prefix
	dev, openAPI   bool
	limits         limitParts
	namespaces     map[spec.Namespace]gateway.NamespaceRules
	steps          stepParts
	inbox          inboxParts
	audit          auditParts
	collector      string           // of spans; empty: there are none
	clock          func() time.Time // nil: time.Now
}

// process is what was made of parts. It owns the pool and the listeners.
type process struct {
	parts
	pool    *pgxpool.Pool
	engine  *engine.Engine
	access  *access.Verifier // nil without listener
	gateway *gateway.Gateway // nil without listener
	box     *inbox.Inbox     // as the gateway
	spans   spans
	public  net.Listener
	admin   net.Listener
}

// compose connects to the database, which must have this program's schema, binds the listeners and makes the engine
// and the gateway. Nothing runs yet.
func compose(ctx context.Context, from parts) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, composeWithin)
	defer cancel()
	p := &process{parts: from}
	for _, do := range []func(context.Context) error{p.connect, p.bind, p.makeSpans, p.makeEngine, p.registerSteps, p.makeAccess, p.makeGateway} {
		if err := do(ctx); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// close gives back what compose took. Run has ended before, or never began.
func (p *process) close() {
	for _, ln := range []net.Listener{p.public, p.admin} {
		if ln != nil {
			_ = ln.Close() // whoever served on it has closed it
		}
	}
	p.spans.close()
	p.steps.close()
	p.limits.close()
	if p.pool != nil {
		p.pool.Close()
	}
}

// connect opens the pool. What is wrong with the database is found here, where it can be said in full.
func (p *process) connect(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(p.databaseURL)
	if err != nil {
		return setting(settingDatabaseURL, "is not the URL of a PostgreSQL database")
	}
	cfg.MaxConns = int32(p.connections)
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "flowgate"
	}
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	return readyDatabase(ctx, p.pool, p.databaseURL)
}

// readyDatabase checks that a database answers and has this program's schema.
func readyDatabase(ctx context.Context, pool *pgxpool.Pool, url string) error {
	if err := pool.Ping(ctx); err != nil {
		return fmt.Errorf("the database of %s does not answer: %w", settingDatabaseURL, err)
	}
	if err := db.CheckSchema(ctx, url); errors.Is(err, db.ErrSchemaBehind) {
		return fmt.Errorf("%w: run flowgate migrate first", err)
	} else if err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	return nil
}

// bind takes the addresses, so that one that is taken is found before anything runs.
func (p *process) bind(ctx context.Context) error {
	for _, l := range []struct {
		setting, address string
		at               *net.Listener
	}{{settingListen, p.listen, &p.public}, {settingAdminListen, p.adminListen, &p.admin}} {
		if l.address == "" {
			continue
		}
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
		if err != nil {
			return fmt.Errorf("%s (%s): %w", l.setting, flagOf(l.setting), err)
		}
		*l.at = ln
	}
	return nil
}

func (p *process) makeSpans(ctx context.Context) (err error) {
	p.spans, err = newSpans(ctx, p.collector, p.log)
	return err
}

func (p *process) makeEngine(ctx context.Context) error {
	if p.publicURL == "" && p.public != nil {
		p.publicURL = "http://" + p.public.Addr().String()
	}
	var err error
	p.engine, err = engine.New(ctx, engine.Config{
		Pool: p.pool, Keys: p.keys, PublicURL: p.publicURL, Logger: p.log, Dev: p.dev, Clock: p.clock,
		StepQueues: p.steps.queued(), StepLease: p.steps.lease, StepDrain: p.steps.drain, TargetGrace: p.steps.grace,
		Audit: p.audit.on, AuditKeep: p.audit.keep, Tracer: p.spans.tracer(),
	})
	if err != nil {
		return err
	}
	for _, r := range p.registrations {
		if !r.hasWorkflow() {
			continue
		}
		if err := p.engine.Register(r.Spec, r.Workflow, r.Code...); err != nil {
			return fmt.Errorf("workflow %q: %w", r.Spec.Name, err)
		}
	}
	return nil
}

func (p *process) makeGateway(context.Context) error {
	if p.public == nil {
		return nil
	}
	p.box = inbox.New(inbox.Config{
		Store: db.Open(p.pool, db.Config{Clock: p.clock, Audit: p.audit.on}), Engine: p.engine, Logger: p.log, Clock: p.clock,
		Room: p.inbox.room, Keep: p.inbox.keep,
	})
	var receiver *ingress.Receiver
	if p.inbox.sources != nil {
		receiver = ingress.New(p.inbox.sources, ingress.Options{Inbox: p.box, Clock: p.clock, Logger: p.log})
	}
	var err error
	cfg := gateway.Config{
		Engine: p.engine, Logger: p.log, PublicURL: p.publicURL, Dev: p.dev, Access: p.access, OpenAPI: p.openAPI,
		Ingress: receiver, Inbox: p.box, Tracer: p.spans.tracer(),
		DrainTimeout: drainWithin, TrustedProxies: p.trustedProxies,
		MaxInFlight: p.limits.inFlight, Limits: p.limits.limits, Quota: p.limits.gatewayQuota(),
		Namespaces: p.namespaces,
	}
	if receiver != nil { // a nil one in an interface is none that is absent
		cfg.HookVerifier = receiver
	}
	p.gateway, err = gateway.New(cfg)
	return err
}
