//go:build !race

package engine_test

// worlds is how many databases traces are compared on, as many traces on each as -rapid.checks says.
const worlds = 20

// manySteps is how many one run does at once, whose every outcome has it name all the others again.
const manySteps = 1000
