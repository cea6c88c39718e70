//go:build linux || darwin

package pgembed

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// maxSocketPath keeps room in sockaddr_un, whose path has 108 bytes on Linux and 104 on macOS.
const maxSocketPath = 100

// folder is the place of one server on disk: an absolute path, and the names below it.
type folder string

func (f folder) data() string    { return filepath.Join(string(f), "data") }
func (f folder) fresh() string   { return filepath.Join(string(f), "data.new") }
func (f folder) pidfile() string { return filepath.Join(f.data(), "postmaster.pid") }
func (f folder) logfile() string { return filepath.Join(string(f), "postgres.log") }
func (f folder) lock() string    { return filepath.Join(string(f), ".lock") }
func (f folder) sock() string    { return filepath.Join(string(f), "sock") }
func (f folder) socket() string  { return filepath.Join(f.sock(), ".s.PGSQL.5432") }

// url names the maintenance database over the socket.
func (f folder) url() string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres"}
	u.RawQuery = url.Values{"host": {f.sock()}, "port": {"5432"}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// openFolder makes what is missing of a server's folder and checks that the account can work in it. Only the data and
// socket folders are given to the account, so a folder of somebody else is never taken over.
func openFolder(dir string, acct *account) (folder, error) {
	if dir == "" {
		return "", errors.New("pgembed: Dir is empty")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	f := folder(abs)
	if n := len(f.socket()); n > maxSocketPath {
		return "", fmt.Errorf("pgembed: the socket path %s has %d bytes, the limit is %d: choose a shorter Dir",
			f.socket(), n, maxSocketPath)
	}
	if err := f.make(acct); err != nil {
		return "", err
	}
	if err := acct.reach(abs); err != nil {
		return "", err
	}
	if err := os.Mkdir(f.sock(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return f, acct.own(f.sock())
}

// make opens a folder it made to the account even under a tight umask; one that was there keeps its mode.
func (f folder) make(acct *account) error {
	if _, err := os.Stat(string(f)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return err
	}
	if acct == nil {
		return nil
	}
	return os.Chmod(string(f), 0o755)
}
