package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// tokenPattern is the form of a minted token.
var tokenPattern = regexp.MustCompile(`fhk_[0-9A-Za-z]{49}`)

// findTokens searches every file below a folder, the database's among them, for tokens.
func findTokens(dir string, known map[string]bool) (found []violation, files int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the database removes files
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		inside, err := tokensIn(path)
		ours := 0
		for token := range inside {
			if known[token] {
				ours++
			}
		}
		if len(inside) > 0 {
			found = append(found, violation{path, fmt.Sprintf("holds %d tokens, %d of them those of this soak", len(inside), ours)})
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return found, files, err
}

// tokensIn finds what looks like a token in a file.
func tokensIn(path string) (map[string]bool, error) {
	found := map[string]bool{}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const overlap = 64 // more than a token is long
	buf := make([]byte, 1<<20)
	kept := 0
	for {
		n, err := io.ReadFull(f, buf[kept:])
		text := buf[:kept+n]
		for _, token := range tokenPattern.FindAll(text, -1) {
			found[string(token)] = true
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		kept = copy(buf, text[len(text)-overlap:])
	}
}

// logged is what the logs say beside what is wrong with them, over all rounds.
type logged struct {
	errors map[string]int   // messages of level error, by text
	states map[string]int   // SQLSTATEs in the log of PostgreSQL
	read   map[string]int64 // how much of each file was read before
}

func newLogged() logged {
	return logged{errors: map[string]int{}, states: map[string]int{}, read: map[string]int64{}}
}

// crashes begin the lines of a Go program that ends because of a fault.
var crashes = [][]byte{[]byte("panic:"), []byte("fatal error:"), []byte("goroutine "), []byte("WARNING: DATA RACE")}

// readLogs searches the logs of the processes for crashes and for panics of a request's handler.
func (l *logged) readLogs(paths []string) ([]violation, error) {
	var found []violation
	for _, path := range paths {
		err := l.eachLine(path, func(line []byte) {
			for _, begin := range crashes {
				if bytes.HasPrefix(line, begin) {
					found = append(found, violation{path, string(line)})
				}
			}
			var said struct{ Level, Message, Panic string }
			if json.Unmarshal(line, &said) != nil {
				return
			}
			if said.Panic != "" {
				found = append(found, violation{path, "a request panicked: " + said.Panic})
			}
			if said.Level == "error" {
				l.errors[said.Message]++
			}
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// sqlState is where log_line_prefix has the SQLSTATE of a line.
var sqlState = regexp.MustCompile(`^\S+ \S+ \S+ \[\d+\] ([0-9A-Z]{5}) +(\w+):`)

// readDatabaseLogs searches the log of PostgreSQL for deadlocks, its own panics, and damage.
func (l *logged) readDatabaseLogs(paths []string) ([]violation, error) {
	var found []violation
	for _, path := range paths {
		err := l.eachLine(path, func(line []byte) {
			m := sqlState.FindSubmatch(line)
			if m == nil {
				return
			}
			state, severity := string(m[1]), string(m[2])
			if state != "00000" {
				l.states[state]++
			}
			if state == "40P01" || state[:2] == "XX" || severity == "PANIC" {
				found = append(found, violation{path, string(line)})
			}
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// eachLine visits the lines of a file that were not there the last time. One that is shorter than then is a new file.
func (l *logged) eachLine(path string, visit func([]byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < l.read[path] {
		l.read[path] = 0
	}
	if _, err := f.Seek(l.read[path], io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			visit(bytes.TrimSuffix(line, []byte("\n")))
		}
		if errors.Is(err, io.EOF) { // a line without an end is visited again when it has one
			return nil
		}
		if err != nil {
			return err
		}
		l.read[path] += int64(len(line))
	}
}
