//go:build linux || darwin

package pgembed

import (
	"os"
	"path/filepath"
)

// DefaultDir is where dev mode keeps its database: /var/lib/flowgate for root, whose home is closed to the account
// PostgreSQL runs under, else $XDG_STATE_HOME/flowgate or ~/.local/state/flowgate. It makes nothing.
func DefaultDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/flowgate"
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) { // the XDG rules say to ignore a relative one
		return filepath.Join(state, "flowgate")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "flowgate")
}
