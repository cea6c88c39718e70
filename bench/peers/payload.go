package main

import (
	"errors"
	"strings"
)

// payload is what a run is started with, and what its signal brings: 200 bytes of JSON.
type payload struct {
	Order    string `json:"order"`
	Decision string `json:"decision"`
	Amount   int    `json:"amount"`
	By       string `json:"by"`
	Note     string `json:"note"`
}

// order is the payload of every start and every signal.
var order = payload{
	Order:    "ord_2026_0000004711",
	Decision: "approved",
	Amount:   129_900,
	By:       "reviewer@example.com",
	Note:     strings.Repeat("checked ", 10) + "by two people",
}

// errPayload fails a run that ends with something else than was sent.
var errPayload = errors.New("the run has another payload")

// check is what becomes of every run's output.
func (p payload) check() error {
	if p != order {
		return errPayload
	}
	return nil
}
