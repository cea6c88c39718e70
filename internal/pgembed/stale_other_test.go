//go:build darwin

package pgembed

import "testing"

func zombie(t *testing.T) int {
	t.Skip("waiting for a process without reaping it needs waitid")
	return 0
}

func otherServer(t *testing.T) int {
	t.Skip("ps tells no data directory")
	return 0
}
