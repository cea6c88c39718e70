//go:build darwin

package pgembed

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// servesData reports whether a process is a living PostgreSQL. ps tells no data directory, so a recycled process ID that
// went to another PostgreSQL counts as serving: the caller would delete a lock file.
func servesData(pid int, _ string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=,comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false
	}
	state, name, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return !strings.HasPrefix(state, "Z") && filepath.Base(strings.TrimSpace(name)) == "postgres"
}
