// Package remote loads a Flowgate that runs already, over its HTTP API, as any client would.
package remote
