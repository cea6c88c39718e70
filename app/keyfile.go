package app

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flowgate-go/flowgate/tokens"
)

// keyFile is the name of the file, beside the data, with the keys that dev mode made. Its lines are settings, so that
// it can be sourced by a shell that runs flowgate serve on the same database.
const keyFile = "keys.env"

// kept are the keys of a folder.
type kept struct {
	ring *tokens.Keyring
	sign *tokens.SignKeys
}

// keptKeys loads the keys of a folder and makes them when there are none. Processes that make them at once end up with
// the same ones. Links and tokens survive as long as the file does.
func keptKeys(dir string) (kept, error) {
	path := filepath.Join(dir, keyFile)
	text, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKeys(path); err != nil {
			return kept{}, fmt.Errorf("make keys: %w", err)
		}
		text, err = readPrivate(path)
	}
	if err != nil {
		return kept{}, err
	}
	s := keptSettings(text)
	ring, err := s.keyring()
	if err == nil && s.SignKeys == "" {
		if text, err = addSignKey(path); err == nil {
			s = keptSettings(text)
		}
	}
	if err != nil {
		return kept{}, fmt.Errorf("%s: %w", path, err)
	}
	sign, err := s.signKeys()
	if err != nil {
		return kept{}, fmt.Errorf("%s: %w", path, err)
	}
	return kept{ring: ring, sign: sign}, nil
}

// fileSettings are the settings that the file holds.
type fileSettings struct {
	keySettings
	signKeySettings
}

func keptSettings(text string) (s fileSettings) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case settingMintKeys:
			s.MintKeys = value
		case settingDigestKeys:
			s.DigestKeys = value
		case settingSignKeys:
			s.SignKeys = value
		}
	}
	return s
}

// addSignKey gives a file of keys that was made before there were keys that sign one of them, and returns its text. Of
// processes that do so at once one adds it.
func addSignKey(path string) (text string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	before, err := os.ReadFile(path)
	if err != nil || keptSettings(string(before)).SignKeys != "" {
		return string(before), err
	}
	line := settingSignKeys + "=" + newKey() + "\n"
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	if _, err := f.WriteString(line); err != nil {
		return "", err
	}
	return string(before) + line, f.Sync()
}

// readPrivate reads a file that nobody else may read.
func readPrivate(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s holds secrets and others may read it: chmod 600 it", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// makeKeys writes new keys under path unless somebody else has just done so. The file appears whole or not at all.
func makeKeys(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), keyFile+".*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "%s=%s\n%s=%s\n%s=%s\n",
		settingMintKeys, newKey(), settingDigestKeys, newKey(), settingSignKeys, newKey())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// newKey is a key as settings spell it. Its ID is new too: a database that knows another key under an ID refuses it.
func newKey() string {
	secret, id := make([]byte, 32), make([]byte, 4)
	_, _ = rand.Read(secret) // never fails
	_, _ = rand.Read(id)
	return "dev-" + hex.EncodeToString(id) + ":" + base64.StdEncoding.EncodeToString(secret)
}
