package gateway

import (
	"context"
	"crypto/sha256"
	"math"
	"net/netip"
	"time"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
	"github.com/flowgate-go/flowgate/spec"
)

// tokenKey stands for a token in memory. The token itself does not stay there.
type tokenKey [sha256.Size]byte

// principalKey names a caller of the API.
type principalKey struct {
	namespace spec.Namespace
	actor     string
}

// sourceKey names a source of signed webhooks.
type sourceKey struct {
	namespace spec.Namespace
	source    string
}

// limiter applies the limits of one gateway. Each kind of key has a map of its own, and what enters one that protects who
// has a credential has shown that credential: strangers are in failures and suspects only.
type limiter struct {
	limits Limits
	clock  func() time.Time
	chance func() float64 // at least 0, below 1
	quota  *quotaGuard

	requests       *throttle.Bucket
	failures       *throttle.Keyed[netip.Prefix] // by network
	sites          *throttle.Keyed[netip.Prefix] // the same by site
	lookups        *throttle.Bucket
	suspectLookups *throttle.Bucket
	suspects       *throttle.Keyed[netip.Prefix]              // by site
	known          *throttle.Memory[tokenKey, spec.Namespace] // tokens that were found to be there
	hooks          *throttle.Keyed[tokenKey]
	namespaces     *throttle.Keyed[spec.Namespace]
	own            map[spec.Namespace]*throttle.Bucket // of namespaces with a rate of their own; nil: none
	shares         *throttle.Shares[spec.Namespace]
	principals     *throttle.Keyed[principalKey]
	apiKeys        *throttle.Keyed[tokenKey]
	sources        *throttle.Keyed[sourceKey]

	refused limitCounts
}

func newLimiter(cfg Config, chance func() float64) *limiter {
	l, clock := cfg.Limits, cfg.Clock
	// Those for whom there is no room are many; a hook, at most, goes without a limit of its own.
	return &limiter{
		limits: l, clock: clock, chance: chance, quota: newQuotaGuard(cfg.Quota, clock),
		requests:       throttle.NewBucket(l.Requests),
		failures:       throttle.NewKeyed[netip.Prefix](l.Failures, l.Failures.Times(10), l.Keys, clock),
		sites:          throttle.NewKeyed[netip.Prefix](l.Failures.Times(siteNetworks), l.Failures.Times(10*siteNetworks), l.Keys, clock),
		lookups:        throttle.NewBucket(l.Lookups),
		suspectLookups: throttle.NewBucket(l.SuspectLookups),
		suspects:       throttle.NewKeyed[netip.Prefix](l.suspect(), l.suspect(), l.Keys, clock),
		known:          throttle.NewMemory[tokenKey, spec.Namespace](l.Keys),
		hooks:          throttle.NewKeyed[tokenKey](l.Hook, throttle.Unlimited(), l.Keys, clock),
		namespaces:     throttle.NewKeyed[spec.Namespace](l.Namespace, l.Namespace.Times(10), l.Keys, clock),
		own:            ownBuckets(cfg.Namespaces),
		shares:         throttle.NewShares[spec.Namespace](l.share(cfg.MaxInFlight)),
		principals:     throttle.NewKeyed[principalKey](l.Principal, l.Principal.Times(10), l.Keys, clock),
		apiKeys:        throttle.NewKeyed[tokenKey](l.Principal.Times(2), throttle.Unlimited(), l.Keys, clock),
		sources:        throttle.NewKeyed[sourceKey](l.Source, l.Source.Times(10), l.Keys, clock),
	}
}

// network is what an address is counted by: itself or, since one customer has all of it, the /64 of an IPv6 one.
func network(addr netip.Addr) netip.Prefix {
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address: all of those are one
	}
	return p
}

// siteNetworks is how many networks of one site, where addresses have sites, may fail as much as they like.
const siteNetworks = 16

// siteOf is what whoever has many networks is counted by as well: the /48 of an IPv6 address, which is what a customer gets
// who asks for more than one /64. An IPv4 address is its own site.
func siteOf(addr netip.Addr) netip.Prefix {
	if !addr.Is6() {
		return network(addr)
	}
	p, _ := addr.Prefix(48) // it has that many bits
	return p
}

// refuse makes the refusal of a limit.
func (l *limiter) refuse(which limit, wait time.Duration) *refusal {
	l.refused.add(which)
	return &refusal{problem: rateLimited, retry: l.retryAfter(wait)}
}

// retryAfter is a wait in whole seconds, never zero, and not the same for all who are refused at once.
func (l *limiter) retryAfter(wait time.Duration) int {
	spread := max(time.Second, wait/2).Seconds() * l.chance()
	return max(1, int(math.Ceil(wait.Seconds()+spread)))
}

// work lets a request go on to the engine.
func (l *limiter) work(now time.Time) error {
	wait, ok := l.requests.Take(now)
	if ok {
		return nil
	}
	l.refused.add(limitRequests)
	return &refusal{problem: unavailable, retry: l.retryAfter(wait)}
}

// failed counts an answer that tells a stranger that it was wrong. It is a refusal once the address had enough of them.
func (l *limiter) failed(peer netip.Addr) *refusal {
	now := l.clock()
	if peer.Is6() { // the networks of a site that has no budget left would take the room of others
		if wait, spent := l.sites.Spent(siteOf(peer), now); spent {
			return l.refuse(limitFailures, wait)
		}
	}
	wait, ok := l.failures.Take(network(peer), now)
	if ok && peer.Is6() {
		wait, ok = l.sites.Take(siteOf(peer), now)
	}
	if ok {
		return nil
	}
	return l.refuse(limitFailures, wait)
}

// lookedUpInVain counts a look-up that found nothing, of an address that was no suspect when it began. Many at once begin
// before the first of them is counted, so an address owes what it had no budget for.
func (l *limiter) lookedUpInVain(peer netip.Addr) {
	now := l.clock()
	l.failures.Owe(network(peer), now)
	if peer.Is6() {
		l.sites.Owe(siteOf(peer), now)
	}
}

// suspect says whether an address has been wrong too often.
func (l *limiter) suspect(peer netip.Addr, now time.Time) bool {
	if _, spent := l.failures.Spent(network(peer), now); spent {
		return true
	}
	_, spent := l.sites.Spent(siteOf(peer), now) // where addresses are their own sites, nobody is known there
	return spent
}

// caller applies the limits of an authenticated caller of the API.
func (l *limiter) caller(ctx context.Context, k *call, who access.Principal) error {
	now := l.clock()
	if who.Actor != "" {
		bucket := l.principals.Bucket(principalKey{who.Namespace, who.Actor}, now)
		wait, ok := bucket.Take(now)
		k.tell("principal", bucket, now)
		if !ok {
			return l.refuse(limitPrincipal, wait)
		}
	}
	if err := l.namespace(k, who.Namespace, now); err != nil {
		return err
	}
	wait, err := l.quota.take(ctx, who.Namespace)
	switch {
	case err != nil: // what the API does can be asked for again
		l.refused.add(limitQuota)
		return &refusal{problem: unavailable, retry: l.retryAfter(0), fault: err}
	case wait > 0:
		return l.refuse(limitQuota, wait)
	}
	return l.work(now)
}

// namespace applies the limits of a namespace, and takes of its share for as long as the call is in work.
func (l *limiter) namespace(k *call, ns spec.Namespace, now time.Time) error {
	bucket, own := l.own[ns]
	if !own && !l.limits.Namespace.IsUnlimited() {
		bucket = l.namespaces.Bucket(ns, now)
	}
	if bucket != nil {
		wait, ok := bucket.Take(now)
		k.tell("namespace", bucket, now)
		if !ok {
			return l.refuse(limitNamespace, wait)
		}
	}
	if !l.shares.Take(ns) { // it may be we who are slow, with few requests
		l.refused.add(limitShare)
		return &refusal{problem: unavailable, retry: l.retryAfter(0)}
	}
	k.share = &share{l.shares, ns}
	return nil
}

// event applies the limits of a source of signed webhooks, which the call names, to an event that was verified.
func (l *limiter) event(ctx context.Context, k *call, ns spec.Namespace) error {
	now := l.clock()
	if wait, ok := l.sources.Take(sourceKey{ns, k.name}, now); !ok {
		return l.refuse(limitSource, wait)
	}
	return l.message(ctx, k, ns, now)
}

// message applies the limits of a namespace to a message of who is no caller of the API. One that is refused may be lost, so
// without its backend the exact quota gives way to the local limits.
func (l *limiter) message(ctx context.Context, k *call, ns spec.Namespace, now time.Time) error {
	if err := l.namespace(k, ns, now); err != nil {
		return err
	}
	if wait, err := l.quota.take(ctx, ns); err == nil && wait > 0 {
		return l.refuse(limitQuota, wait)
	}
	return l.work(now)
}

// remember keeps a token that is certainly there.
func (l *limiter) remember(token string, ns spec.Namespace) {
	l.known.Set(tokenKey(sha256.Sum256([]byte(token))), ns)
}

// share is the part of a namespace in the requests in work, held by one of them. A nil share holds nothing.
type share struct {
	of *throttle.Shares[spec.Namespace]
	ns spec.Namespace
}

func (s *share) give() {
	if s != nil {
		s.of.Give(s.ns)
	}
}

// force takes it for who gave it back before, also beyond what the namespace may have.
func (s *share) force() {
	if s != nil {
		s.of.Force(s.ns)
	}
}
