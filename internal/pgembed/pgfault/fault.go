package pgfault

import "sync"

// Fault is a plan for one statement.
type Fault struct {
	kind     Kind
	state    string // SQLSTATE of a refusal
	met      chan struct{}
	released chan struct{}
	done     chan struct{}
	release  sync.Once
	sql      string // written before met is closed, as sent is
	sent     string
}

func newFault(kind Kind, state string) *Fault {
	return &Fault{kind: kind, state: state, met: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{})}
}

// meet notes that the statement was reached: its text, and which statement the server was sent last in the same write,
// with or without this one's binding.
func (f *Fault) meet(sql, sent, before string) {
	f.sql, f.sent = sql, sent
	if f.kind == HoldBind {
		f.sent = before
	}
	close(f.met)
}

// Met is closed when the statement was reached.
func (f *Fault) Met() <-chan struct{} { return f.met }

// Happened says whether the statement was reached.
func (f *Fault) Happened() bool {
	select {
	case <-f.met:
		return true
	default:
		return false
	}
}

// SQL is the text of the statement; it is empty before Met is closed.
func (f *Fault) SQL() string {
	if !f.Happened() {
		return ""
	}
	return f.sql
}

// Sent is the text of the last statement that the server is sent, or sent the binding of, while this one is held, if it
// is in the same write; a server that shows it as its query and waits for the client has done all that it was sent. Empty:
// it was sent nothing since its last answer. It is empty before Met is closed, too.
func (f *Fault) Sent() string {
	if !f.Happened() {
		return ""
	}
	return f.sent
}

// Release lets go on what Hold, HoldBind or Detach keep back. It may be called at any time and more than once; a fault that has
// not been reached then holds nothing any more.
func (f *Fault) Release() { f.release.Do(func() { close(f.released) }) }

// Done is closed when the fault is over: at once for most, after Release for Hold and HoldBind, and for Detach when the server has
// done the statement and ended the session.
func (f *Fault) Done() <-chan struct{} { return f.done }
