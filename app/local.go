package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/internal/pgembed"
	"github.com/flowgate-go/flowgate/steps/httppost"
	"github.com/flowgate-go/flowgate/tokens"
)

// Local describes a whole Flowgate inside this process, as dev mode and the example programs run it: it listens on
// loopback, its API is open, and a changed workflow replaces the stored one. It is not for a deployment.
type Local struct {
	Registrations []Registration
	// Dir keeps the data of an embedded PostgreSQL and the keys, so that runs and links survive a restart. Empty means
	// a folder for temporary files that Close removes.
	Dir string
	// DatabaseURL names a database to use instead of an embedded one. Dir then keeps the keys only, and is required
	// where Keys is nil.
	DatabaseURL string
	Keys        *tokens.Keyring // nil: made once and kept in Dir
	Listen      string          // loopback address; empty: any free port
	AdminListen string          // loopback address; empty: no admin listener
	PublicURL   string          // base of links; empty: the address of the listener
	Connections int             // most connections to the database; 0: 16
	Logger      zerolog.Logger  // the zero Logger discards
	// HTTPPost configures the built-in step http.post. The zero value is the default of package httppost: every public host
	// by https, and no secrets.
	HTTPPost httppost.Config
	// TargetGrace is how long a message to another run is tried while there is no such run; 0: 1 min.
	TargetGrace time.Duration
	// Sources are those of signed webhooks; nil: there are none.
	Sources *ingress.Config

	credentials credentials // of the command; keys that sign are made otherwise
	inbox       inboxParts  // of the command
	audit       auditParts  // of the command; else the audit trail is kept
	steps       stepParts   // of the command, which has its own configuration of http.post
}

// Instance is a running Local. Its owner calls Close.
type Instance struct {
	process   *process
	server    *pgembed.Server // nil for a database of somebody else's
	dir       string
	throwAway bool     // dir goes with the instance
	kept      []string // what is in dir, for people
	stop      context.CancelFunc
	ended     chan struct{}
	err       error // what ended the process; read it after ended
}

const defaultConnections = 16

// Start brings a Local up and returns once its engine and gateway run. The context bounds the start; the instance
// runs until Close, or until a part of it fails, which Done tells.
//
// Errors: *SettingError for an address that is not loopback; of package pgembed when there is no PostgreSQL to start;
// what the database, the engine or a listener refuses.
func Start(ctx context.Context, l Local) (*Instance, error) {
	if l.Listen == "" {
		l.Listen = "127.0.0.1:0"
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	i := &Instance{dir: l.Dir, ended: make(chan struct{})}
	if err := i.start(ctx, l); err != nil {
		return nil, errors.Join(err, i.release())
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	i.stop = stop
	go func() {
		defer close(i.ended)
		i.err = i.process.run(running)
	}()
	return i, nil
}

func (l Local) check() error {
	if !isLoopback(l.Listen) {
		return setting(settingListen, "must be a loopback address, such as 127.0.0.1:8080: the API is open to whoever reaches it")
	}
	if l.AdminListen != "" && !isLoopback(l.AdminListen) {
		return setting(settingAdminListen, "must be a loopback address, such as 127.0.0.1:9090")
	}
	if l.DatabaseURL != "" && l.Dir == "" && l.Keys == nil {
		return errors.New("app: Local needs Dir or Keys beside DatabaseURL")
	}
	return nil
}

// start makes what runs: database, schema, keys, then the rest.
func (i *Instance) start(ctx context.Context, l Local) error {
	from := parts{
		log: l.Logger, registrations: l.Registrations, keys: l.Keys, databaseURL: l.DatabaseURL, connections: l.Connections,
		publicURL: l.PublicURL, listen: l.Listen, adminListen: l.AdminListen, dev: true, openAPI: true, steps: l.steps,
		credentials: l.credentials, inbox: l.inbox, audit: l.audit,
	}
	if l.Sources != nil {
		from.inbox.sources = l.Sources
	}
	if l.steps.queues == nil { // no command has read settings
		from.steps.grace, from.audit.on = l.TargetGrace, true
		if err := from.steps.posting(l.HTTPPost); err != nil {
			return err
		}
	}
	if from.connections == 0 {
		from.connections = defaultConnections
	}
	if from.databaseURL == "" {
		if err := i.startServer(ctx, l.Logger); err != nil {
			return err
		}
		from.databaseURL, from.databaseEnded = i.server.URL(), i.server.Done()
		i.kept = append(i.kept, "data")
	}
	if err := db.Migrate(ctx, from.databaseURL); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	if err := i.completeKeys(&from); err != nil {
		return err
	}
	var err error
	i.process, err = compose(ctx, from)
	return err
}

// completeKeys adds the keys that nobody gave: those of the folder or, of keys that sign, new ones where there is no folder
// to keep them.
func (i *Instance) completeKeys(from *parts) error {
	if from.keys != nil && (from.credentials.sign != nil || i.dir == "") {
		if from.credentials.sign != nil {
			return nil
		}
		var err error
		from.credentials.sign, err = signKeySettings{SignKeys: newKey()}.signKeys()
		return err
	}
	k, err := keptKeys(i.dir)
	if err != nil {
		return err
	}
	if from.keys == nil {
		from.keys = k.ring
	}
	if from.credentials.sign == nil {
		from.credentials.sign = k.sign
	}
	i.kept = append(i.kept, "keys")
	return nil
}

// startServer starts the embedded PostgreSQL, on a folder of its own where the caller named none.
func (i *Instance) startServer(ctx context.Context, log zerolog.Logger) error {
	if i.dir == "" {
		dir, err := os.MkdirTemp("", "flowgate-")
		if err != nil {
			return err
		}
		i.dir, i.throwAway = dir, true
		if err := os.Chmod(dir, 0o755); err != nil { // as root, the server runs under another account
			return err
		}
	}
	bin, err := findPostgres(ctx, i.dir, log)
	if err != nil {
		return err
	}
	i.server, err = pgembed.Start(ctx, pgembed.Config{Dir: i.dir, BinDir: bin, Durable: !i.throwAway})
	if err != nil {
		return err
	}
	log.Info().Str("dir", i.server.Dir()).Bool("attached", i.server.Attached()).Msg("embedded PostgreSQL is up")
	return nil
}

// URL is the base of callbacks and API.
func (i *Instance) URL() string { return "http://" + i.process.public.Addr().String() }

// AdminURL is the base of /livez and /readyz; empty without an admin listener.
func (i *Instance) AdminURL() string {
	if i.process.admin == nil {
		return ""
	}
	return "http://" + i.process.admin.Addr().String()
}

// Dir is the folder that Local named, or the one that was made for it.
func (i *Instance) Dir() string { return i.dir }

// Engine has the use cases of the running engine.
func (i *Instance) Engine() *engine.Engine { return i.process.engine }

// Done is closed when the instance has ended, whatever ended it. Close says what did.
func (i *Instance) Done() <-chan struct{} { return i.ended }

// Close stops the instance and waits: the gateway finishes the requests under way, at most 10 s, then the engine ends,
// then PostgreSQL. The error is that of the part that failed. Closing again changes nothing.
func (i *Instance) Close() error {
	i.stop()
	<-i.ended
	return errors.Join(i.err, i.release())
}

// release gives back what start took, in reverse.
func (i *Instance) release() error {
	if i.process != nil {
		i.process.close()
	}
	var err error
	if i.server != nil {
		err = i.server.Stop()
	}
	if i.throwAway {
		err = errors.Join(err, os.RemoveAll(i.dir))
	}
	return err
}
