//go:build race

package engine_test

// worlds is smaller where the race detector makes everything slow: it is other tests that it is for.
const worlds = 4
