package db

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// The channels of hints between processes. A hint says that there is something to look for, never what: each receiver
// reads the tables, and polls where no hint comes.
const (
	readyChannel = "flowgate_ready" // a run became due
	endedChannel = "flowgate_ended" // a run, or an update of one, ended
	tasksChannel = "flowgate_tasks" // a task is due
)

// forAll is the payload of a hint that its sender heeds, too: it does not know what it did. Of any other it knows.
const forAll = "all"

const (
	// notifyWindow is how long hints are gathered after one was sent.
	notifyWindow = 10 * time.Millisecond
	// notifyTime bounds the sending of a hint, notifyPause is the rest after it failed.
	notifyTime  = time.Second
	notifyPause = time.Second
)

// notifier sends hints after commits, outside their transactions and on a connection of its own, because NOTIFY makes
// commits wait for each other. The first hint goes at once, those of the next 10 ms are one. A hint that cannot be sent
// is lost.
type notifier struct {
	config *pgx.ConnConfig
	log    zerolog.Logger
	wake   chan struct{}
	due    atomic.Bool
	over   atomic.Bool
	tasks  atomic.Bool
	toAll  atomic.Bool   // what waits is for this process as well
	pid    atomic.Uint32 // of the server's process that sends the hints
}

func newNotifier(pool *pgxpool.Pool, process string, log zerolog.Logger) *notifier {
	config := pool.Config().ConnConfig
	if process != "" {
		config.RuntimeParams["application_name"] = "flowgate hints " + process
	}
	return &notifier{config: config, log: log, wake: make(chan struct{}, 1)}
}

func (n *notifier) ready() { n.hint(&n.due) }

func (n *notifier) ended() { n.hint(&n.over) }

func (n *notifier) tasked() { n.hint(&n.tasks) }

// everybody hints that something became due, something ended and there is something to do, to this process as well.
func (n *notifier) everybody() {
	n.toAll.Store(true)
	n.hint(&n.due)
	n.hint(&n.over)
	n.hint(&n.tasks)
}

// own says that a notification is a hint of this process to the others.
func (n *notifier) own(hint *pgconn.Notification) bool {
	return hint.PID == n.pid.Load() && hint.Payload != forAll
}

func (n *notifier) hint(kind *atomic.Bool) {
	kind.Store(true)
	select {
	case n.wake <- struct{}{}:
	default: // somebody has asked already
	}
}

// run sends hints until ctx ends, and then what is left.
func (n *notifier) run(ctx context.Context) {
	var conn *pgx.Conn
	defer func() { n.close(conn) }()
	for last := false; !last; {
		select {
		case <-ctx.Done():
			last = true
		case <-n.wake:
		}
		var err error
		if conn, err = n.send(conn); err != nil {
			n.log.Debug().Err(translate(err)).Msg("hint to other processes lost")
			rest(ctx, notifyPause)
			continue
		}
		rest(ctx, notifyWindow)
	}
}

// send sends the hints that wait, in one round trip. It returns the connection for the next time, nil after an error.
func (n *notifier) send(conn *pgx.Conn) (*pgx.Conn, error) {
	p := &pipeline{}
	due, over, tasks := n.due.Swap(false), n.over.Swap(false), n.tasks.Swap(false)
	payload := ""
	if (due || over || tasks) && n.toAll.Swap(false) { // it was set before them
		payload = forAll
	}
	if due {
		p.exec(sqlc.Notify, sqlc.NotifyParams{Channel: readyChannel, Payload: payload})
	}
	if over {
		p.exec(sqlc.Notify, sqlc.NotifyParams{Channel: endedChannel, Payload: payload})
	}
	if tasks {
		p.exec(sqlc.Notify, sqlc.NotifyParams{Channel: tasksChannel, Payload: payload})
	}
	if p.batch.Len() == 0 {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	if conn == nil {
		var err error
		if conn, err = pgx.ConnectConfig(ctx, n.config.Copy()); err != nil {
			return nil, err
		}
		n.pid.Store(conn.PgConn().PID())
	}
	if err := p.send(ctx, conn); err != nil {
		n.pid.Store(0)
		n.close(conn)
		return nil, err
	}
	return conn, nil
}

func (n *notifier) close(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	_ = conn.Close(ctx)
}
