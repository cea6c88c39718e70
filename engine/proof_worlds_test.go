//go:build !race

package engine_test

// worlds is how many databases traces are compared on, as many traces on each as -rapid.checks says.
const worlds = 20
