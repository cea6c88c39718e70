// Package tally counts: events by words of fixed sets, and durations by fixed bounds. What it holds never grows, and it
// knows nothing of who reads it. Everything in it is safe for concurrent use and costs no lock.
package tally
