//go:build race

package engine_test

// worlds is smaller where the race detector makes everything slow: it is other tests that it is for.
const worlds = 4

// manySteps is how many one run does at once, whose every outcome has it name all the others again.
const manySteps = 200
