// Package redis keeps an exact limit on the requests of each namespace in Redis, for all gateways that use the same one. It
// is the gateway's Quota where local limits, of which every gateway has its own, are not exact enough.
//
// It must not know HTTP or runs, and is the only package that knows the client of Redis.
package redis
