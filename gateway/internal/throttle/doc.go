// Package throttle counts what may happen how often: buckets that refill with time, bounded maps of them, a memory of what
// is known, and shares of something that several use at once. Time is a parameter everywhere, and nothing here has a
// goroutine, so nothing has to be stopped.
//
// It must not know HTTP, tokens or runs: who is limited, by which key and what is said to them is the gateway's.
package throttle
