package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// enoughMemory is what /dev/shm must have free to be used: in containers it is often 64 MiB.
const enoughMemory = 2 << 30

// connections is enough for many tests at once, each with a few pools.
const connections = "max_connections=300"

// launch starts a server in a new folder that carries our process ID.
func launch(ctx context.Context, durable bool) (*pgembed.Server, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	bin, err := pgembed.Binaries(ctx, filepath.Join(cache, "binaries"))
	if err != nil {
		return nil, err
	}
	template, err := template(ctx, cache, bin)
	if err != nil {
		return nil, err
	}
	sweep(serverDir())
	dir, err := os.MkdirTemp(serverDir(), fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // as root, the server runs under another account
		return nil, err
	}
	cfg := pgembed.Config{Dir: dir, BinDir: bin, Template: template, Durable: durable, Params: []string{connections}}
	if !durable {
		cfg.Params = append(cfg.Params, "autovacuum=off") // nothing lives long enough to need it
	}
	s, err := pgembed.Start(ctx, cfg)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// folderPrefix and a process ID begin the name of a throw-away server's folder.
const folderPrefix = "fgtest-"

// serverDir is memory where there is room: making databases there is several times faster than on a disk.
func serverDir() string {
	if dir := os.Getenv("PGTEST_DIR"); dir != "" {
		return dir
	}
	var st syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &st) == nil && uint64(st.Bavail)*uint64(st.Bsize) >= enoughMemory {
		return "/dev/shm"
	}
	return os.TempDir()
}

// sweep removes the folders of test binaries that were killed. Their servers ended with them.
func sweep(dir string) {
	found, err := filepath.Glob(filepath.Join(dir, folderPrefix+"*-*"))
	if err != nil {
		return // dir is no pattern; left-overs cost space only
	}
	for _, path := range found {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), folderPrefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && pid > 0 && dead(pid) {
			_ = os.RemoveAll(path) // another account's: its owner will
		}
	}
}

// cacheDir keeps what is made once per machine and account. The name is known to everybody, so it must be ours.
func cacheDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("fgtest-cache-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o755); err == nil {
		return dir, os.Chmod(dir, 0o755)
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != os.Geteuid() {
		return "", fmt.Errorf("pgtest: %s belongs to another account: %w", dir, fs.ErrPermission)
	}
	return dir, nil
}

// template is a data directory that initdb made, once per set of binaries.
func template(ctx context.Context, cache, bin string) (string, error) {
	st, err := os.Stat(filepath.Join(bin, "postgres"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", bin, st.Size(), st.ModTime().UnixNano()))
	dir := filepath.Join(cache, hex.EncodeToString(sum[:6]))
	data, done := filepath.Join(dir, "data"), dir+".done"
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", &fs.PathError{Op: "flock", Path: lock.Name(), Err: err}
	}
	if _, err := os.Stat(done); err == nil {
		return data, nil
	}
	s, err := pgembed.Start(ctx, pgembed.Config{Dir: dir, BinDir: bin})
	if err != nil {
		return "", err
	}
	if err := s.Stop(); err != nil { // a clean stop, or each copy would start with a recovery
		return "", err
	}
	return data, os.WriteFile(done, nil, 0o600)
}
