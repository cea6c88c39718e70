package gateway

import (
	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
	"github.com/flowgate-go/flowgate/spec"
)

// NamespaceRules are what a deployment asks of one namespace beside what it asks of all.
type NamespaceRules struct {
	// Requests bounds its requests, in place of Limits.Namespace; the zero Rate leaves that.
	Requests Rate
	// RequireIdempotencyKey refuses signals and updates for which the caller names no ID, with 400 idempotency-key-required:
	// their retries would be other messages.
	RequireIdempotencyKey bool
}

// ownBuckets are the buckets of the namespaces that have a rate of their own. There are as many as are configured.
func ownBuckets(rules map[spec.Namespace]NamespaceRules) map[spec.Namespace]*throttle.Bucket {
	own := map[spec.Namespace]*throttle.Bucket{}
	for ns, r := range rules {
		switch {
		case r.Requests == (Rate{}):
		case r.Requests.IsUnlimited():
			own[ns] = nil
		default:
			own[ns] = throttle.NewBucket(r.Requests)
		}
	}
	return own
}

// identity is the ID of a message: what its caller names, or one that is made here where the namespace lets callers do
// without.
func (g *Gateway) identity(k *call, named string) (string, error) {
	switch {
	case named != "":
		return named, nil
	case g.config.Namespaces[k.who.Namespace].RequireIdempotencyKey:
		return "", refuse(keyRequired)
	}
	return g.engine.NewID(), nil
}
