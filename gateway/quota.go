package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Quota is an exact limit on the requests of a namespace, over all gateways that share it.
type Quota interface {
	// Take counts one request. A wait above zero refuses it, and says for how long others would be, too. An error says that
	// the backend cannot tell; it holds no secret. It returns soon after ctx ends.
	Take(ctx context.Context, ns spec.Namespace) (wait time.Duration, err error)
}

const (
	quotaTimeout = 250 * time.Millisecond
	// quotaPause is how long a backend that failed is not asked again: nobody shall wait for it one by one.
	quotaPause = time.Second
)

// quotaGuard asks a Quota and is not held up by it. A nil Quota refuses nothing.
type quotaGuard struct {
	quota  Quota
	clock  func() time.Time
	failed atomic.Pointer[quotaFailure]
}

type quotaFailure struct {
	err error
	at  time.Time
}

func newQuotaGuard(q Quota, clock func() time.Time) *quotaGuard {
	return &quotaGuard{quota: q, clock: clock}
}

func (q *quotaGuard) take(ctx context.Context, ns spec.Namespace) (time.Duration, error) {
	if q.quota == nil {
		return 0, nil
	}
	if f := q.failed.Load(); f != nil && q.clock().Sub(f.at) < quotaPause {
		return 0, f.err
	}
	asked, cancel := context.WithTimeout(ctx, quotaTimeout)
	defer cancel()
	wait, err := q.quota.Take(asked, ns)
	if err != nil {
		if ctx.Err() == nil { // else the call had no time left, which says nothing of the backend
			q.failed.Store(&quotaFailure{err, q.clock()})
		}
		return 0, err
	}
	q.failed.Store(nil)
	return wait, nil
}
