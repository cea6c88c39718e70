// Package gateway is the HTTP surface: it turns callback URLs and API calls into use cases of the engine and their
// answers into statuses, problem documents (RFC 9457) and receipts. It owns routes, the order of checks, form limits of
// requests, request logs and the drain of connections. It is the only package that knows Fiber and fasthttp.
//
// It must not know how messages are decided or stored: what is accepted, a duplicate, a conflict or gone is said by the
// engine, and one table here gives each answer its status. Events of webhooks are verified and mapped by ingress, and kept
// by inbox.
//
// Two rules hold everywhere. A request is answered with a 2xx only after the engine said that the message is committed.
// And no path, query, payload or token reaches a log or another caller: logs name the pattern of the route.
package gateway
