package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A token is found also where one read of the file ends and the next begins, and at the end of a file.
func TestFindTokensInEveryPlace(t *testing.T) {
	t.Parallel()
	token := "fhk_" + strings.Repeat("a7Z", 16) + "x"
	for _, before := range []int{0, 1, 1<<20 - 10, 1<<20 - 53, 1 << 20, 2<<20 - 100} {
		dir := t.TempDir()
		text := strings.Repeat(".", before) + token
		if err := os.WriteFile(filepath.Join(dir, "log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, files, err := findTokens(dir, map[string]bool{token: true})
		if err != nil || len(found) != 1 || files != 1 || !strings.Contains(found[0].what, "1 of them") {
			t.Errorf("after %d bytes: found %v in %d files, %v", before, found, files, err)
		}
	}
}

func TestReadLogsFindsCrashes(t *testing.T) {
	t.Parallel()
	lines := map[string]int{
		`{"level":"info","message":"request","status":202}`:                      0,
		`{"level":"warn","cause":"panic","message":"run blocked"}`:               0,
		`{"level":"error","panic":"runtime error","message":"request"}`:          1,
		"panic: runtime error: index out of range":                               1,
		"fatal error: concurrent map writes":                                     1,
		"goroutine 7 [running]:":                                                 1,
		`{"level":"error","message":"runs do not go on"}` + "\npanic: x\n\tat y": 1,
	}
	for text, want := range lines {
		path := filepath.Join(t.TempDir(), "serve.log")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l := newLogged()
		found, err := l.readLogs([]string{path})
		if err != nil || len(found) != want {
			t.Errorf("%s: found %v, %v, want %d", text, found, err, want)
		}
	}
}

func TestReadDatabaseLogsFindsDeadlocks(t *testing.T) {
	t.Parallel()
	lines := map[string]int{
		"2026-08-01 08:00:00.123 UTC [77] 55P03 ERROR:  canceling statement due to lock timeout":  0,
		"2026-08-01 08:00:00.123 UTC [77] 40P01 ERROR:  deadlock detected":                        1,
		"2026-08-01 08:00:00.123 UTC [77] XX001 ERROR:  invalid page in block 7":                  1,
		"2026-08-01 08:00:00.123 UTC [77] 00000 LOG:  database system was interrupted":            0,
		"2026-08-01 08:00:00.123 UTC [77] 58030 PANIC:  could not write to file":                  1,
		"2026-08-01 08:00:00.123 UTC [77] 40P01 DETAIL:  Process 1 waits; see server log":         1,
		"\tat character 7 of a statement with 40P01 in its text, on a line of its own, no prefix": 0,
	}
	for text, want := range lines {
		path := filepath.Join(t.TempDir(), "postgres.log")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l := newLogged()
		found, err := l.readDatabaseLogs([]string{path})
		if err != nil || len(found) != want {
			t.Errorf("%s: found %v, %v, want %d", text, found, err, want)
		}
	}
}

// What was read is not counted again, and what was added since is.
func TestReadLogsGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.log")
	l := newLogged()
	text := ""
	for round := 1; round <= 3; round++ {
		text += `{"level":"error","message":"request"}` + "\npanic: x\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := l.readLogs([]string{path})
		if err != nil || len(found) != 1 || l.errors["request"] != round {
			t.Errorf("round %d: found %v, %d errors, %v", round, found, l.errors["request"], err)
		}
	}
}
