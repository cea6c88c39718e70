//go:build !linux && !darwin

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

var errPlatform = fmt.Errorf("pgembed: a private PostgreSQL is started on Linux and macOS only, not on %s; "+
	"on Windows use WSL, or name the URL of a database of your own: %w", runtime.GOOS, errors.ErrUnsupported)

// Server is a private PostgreSQL. On this platform there is none.
type Server struct{}

// Start returns an error that wraps errors.ErrUnsupported.
func Start(context.Context, Config) (*Server, error) { return nil, errPlatform }

// URL returns an empty string.
func (*Server) URL() string { return "" }

// Dir returns an empty string.
func (*Server) Dir() string { return "" }

// Attached returns false.
func (*Server) Attached() bool { return false }

// Done returns nil.
func (*Server) Done() <-chan struct{} { return nil }

// Stop does nothing.
func (*Server) Stop() error { return nil }

// Kill does nothing.
func (*Server) Kill() {}

// FindBin returns an error that wraps errors.ErrUnsupported.
func FindBin(string) (string, error) { return "", errPlatform }

// Binaries returns an error that wraps errors.ErrUnsupported.
func Binaries(context.Context, string) (string, error) { return "", errPlatform }

// DefaultDir is a folder in the user's configuration directory.
func DefaultDir() string {
	base, err := os.UserConfigDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "flowgate")
}
