package gateway

import (
	"time"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

// Rate is how often something may happen: PerSecond times in the long run, and Burst times at once after a rest. A field
// that is not above zero is that of the default.
type Rate = throttle.Rate

// Unlimited is the rate of what is not limited.
func Unlimited() Rate { return throttle.Unlimited() }

// Limits say how much of what is served. They count in this process only; several gateways serve as many times as much. A
// zero field is its default.
type Limits struct {
	// Connections bounds the open connections of one address, an IPv6 one by its /64; default 1,024 of 4,096 in all. The
	// addresses of trusted proxies have no bound. One connection more is closed.
	Connections int
	// Requests bounds what is given to the engine; default 20,000 a second. What is refused before counts for nothing, so
	// that junk takes nobody's place. Above it the answer is 503.
	Requests Rate
	// Failures are the answers 400, 401 and 404 that one address gets without a credential that is known; default 1 a
	// second, 30 at once. After them what fails without a look-up is answered 429. An IPv6 /48 gets 16 times as many.
	Failures Rate
	// Lookups bounds the look-ups of well-formed tokens that turn out to be unknown, of all addresses that have Failures
	// left; default 1,000 a second. A token that is found costs nothing.
	Lookups Rate
	// SuspectLookups is the same for the addresses that have none left, together; default 50 a second, 100 at once. One
	// address gets a fifth of it.
	SuspectLookups Rate
	// Hook bounds the uses of one hook's token; default 20 a second, 256 at once.
	Hook Rate
	// Namespace bounds the requests of one namespace; default Unlimited.
	Namespace Rate
	// NamespaceShare is the part of Config.MaxInFlight, in percent, that the requests of one namespace may be, and at least
	// 8 requests; default 25.
	NamespaceShare int
	// Principal bounds the requests of one caller of the API; default 5,000 a second, 10,000 at once. Who is let in without a
	// credential has no name to be counted by.
	Principal Rate
	// Source bounds the verified requests of one source of signed webhooks; default 1,000 a second, 5,000 at once.
	Source Rate
	// AcceptWait is the wait of messages from which the API is answered 503, until it is half of that again; callbacks are
	// from twice as long a wait; default 1 s.
	AcceptWait time.Duration
	// Keys bounds how many addresses, hooks, callers and so on are remembered, each kind on its own; default 65,536.
	Keys int
}

// The defaults of Limits.
const (
	DefaultConnections    = 1024
	DefaultNamespaceShare = 25
	DefaultAcceptWait     = time.Second

	defaultKeys = 1 << 16
	// leastShare keeps a namespace at work where there is little room for all.
	leastShare = 8
	// suspectParts is how many addresses without budget it takes to spend what they may look up together.
	suspectParts = 5
)

// DefaultLimits are the limits of a gateway that is not told any.
func DefaultLimits() Limits {
	return Limits{
		Connections:    DefaultConnections,
		Requests:       Rate{PerSecond: 20_000, Burst: 20_000},
		Failures:       Rate{PerSecond: 1, Burst: 30},
		Lookups:        Rate{PerSecond: 1000, Burst: 1000},
		SuspectLookups: Rate{PerSecond: 50, Burst: 100},
		Hook:           Rate{PerSecond: 20, Burst: 256},
		Namespace:      Unlimited(),
		NamespaceShare: DefaultNamespaceShare,
		Principal:      Rate{PerSecond: 5000, Burst: 10_000},
		Source:         Rate{PerSecond: 1000, Burst: 5000},
		AcceptWait:     DefaultAcceptWait,
		Keys:           defaultKeys,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Connections = positive(l.Connections, d.Connections)
	for _, r := range []struct{ rate, fallback *Rate }{
		{&l.Requests, &d.Requests},
		{&l.Failures, &d.Failures},
		{&l.Lookups, &d.Lookups},
		{&l.SuspectLookups, &d.SuspectLookups},
		{&l.Hook, &d.Hook},
		{&l.Namespace, &d.Namespace},
		{&l.Principal, &d.Principal},
		{&l.Source, &d.Source},
	} {
		if r.rate.PerSecond <= 0 {
			r.rate.PerSecond = r.fallback.PerSecond
		}
		r.rate.Burst = positive(r.rate.Burst, r.fallback.Burst)
	}
	l.NamespaceShare = min(100, positive(l.NamespaceShare, d.NamespaceShare))
	l.AcceptWait = positive(l.AcceptWait, d.AcceptWait)
	l.Keys = positive(l.Keys, d.Keys)
	return l
}

// share is how many of the requests in work may be of one namespace.
func (l Limits) share(inFlight int) int {
	return min(inFlight, max(leastShare, inFlight*l.NamespaceShare/100))
}

// suspect is the part of one address in SuspectLookups.
func (l Limits) suspect() Rate {
	all := l.SuspectLookups
	return Rate{PerSecond: all.PerSecond / suspectParts, Burst: max(1, all.Burst/suspectParts)}
}
