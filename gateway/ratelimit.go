package gateway

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

// budget is what an authenticated caller is told of one of its limits.
type budget struct {
	name  string
	state throttle.State
}

// tell keeps the state of a bucket for the fields RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers).
func (k *call) tell(name string, b *throttle.Bucket, now time.Time) {
	if state, limited := b.State(now); limited {
		k.budgets = append(k.budgets, budget{name, state})
	}
}

// stampBudgets tells an authenticated caller where it stands. Who holds a token only is told nothing: other callers use the
// same limits.
func (k *call) stampBudgets(res *fasthttp.Response) {
	if !k.authenticated || len(k.budgets) == 0 {
		return
	}
	var policies, states []string
	for _, b := range k.budgets {
		policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", b.name, b.state.Quota, seconds(b.state.Refill)))
		states = append(states, fmt.Sprintf("%q;r=%d;t=%d", b.name, b.state.Left, seconds(b.state.Full)))
	}
	res.Header.Set("RateLimit-Policy", strings.Join(policies, ", "))
	res.Header.Set("RateLimit", strings.Join(states, ", "))
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
