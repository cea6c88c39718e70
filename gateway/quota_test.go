package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// A call that had no time left when it asked says nothing of the backend: the others ask it all the same.
func TestLimits_a_quota_and_a_call_that_is_over(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	q := newQuotaGuard(patientQuota{}, clock.Now)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.take(over, spec.DefaultNamespace); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := q.take(t.Context(), spec.DefaultNamespace); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// patientQuota lets everything pass that has time.
type patientQuota struct{}

func (patientQuota) Take(ctx context.Context, _ spec.Namespace) (time.Duration, error) {
	return 0, ctx.Err()
}
