package pgfault

// Kind is what happens at a statement.
type Kind int

const (
	// Refuse has the server answer the statement with an error of Fault.State, inside the transaction under way.
	Refuse Kind = iota + 1
	// LoseBefore loses the connection before the statement reaches the server, which has done all earlier ones.
	LoseBefore
	// LoseAfter loses the connection after the server has done the statement and before its answer reaches the client.
	LoseAfter
	// Hold keeps the statement, and what follows it, from the server until Release. The client waits; when it gives up, the
	// connection is lost.
	Hold
	// Detach loses the connection for the client at once, while the server goes on waiting: the statement reaches it with
	// Release. It is a COMMIT whose outcome nobody knows because it is not there yet.
	Detach
	// HoldBind is Hold from the statement's binding on, when the server makes the plan and takes the snapshot of a query.
	HoldBind
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Refuse:
		return "refused"
	case LoseBefore:
		return "lost before"
	case LoseAfter:
		return "lost after"
	case Hold:
		return "held"
	case Detach:
		return "detached"
	case HoldBind:
		return "held before its binding"
	}
	return "no fault"
}
