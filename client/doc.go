// Package client calls the HTTP API of a gateway: one method for each route.
//
// A call that changes something carries an identity that is made once, before the first try: the run ID of a start, the
// idempotency key of a signal or an update; what has one by nature (the answer of a hook, a cancellation) needs none. So a
// reply that was lost, a time-out and a 503 are answered by trying again, and the effect is one all the same: the second
// try finds the receipt of the first, and Receipt.Duplicate says so.
//
// A refusal is a *Problem, and errors.Is tells its verdict:
//
//	_, err := c.SendSignal(ctx, "order-7", "payment.captured", client.Message{ID: "evt-1", Payload: capture})
//	switch {
//	case errors.Is(err, client.ErrConflict): // evt-1 was accepted with other content, which stands
//	case errors.Is(err, client.ErrGone): // the run ended before
//	case errors.Is(err, client.ErrBusy): // the tries are over; the same call may be made again
//	}
package client
