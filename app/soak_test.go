//go:build soak

package app_test

import "testing"

// TestSoak is TestC52 at length: minutes of crashes under load, checked against a ledger of what was acknowledged.
func TestSoak(t *testing.T) { killAgainAndAgain(t, 400) }
