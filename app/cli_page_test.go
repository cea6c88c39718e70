package app_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page of the commands names each of them with its flags, and the exit codes.
func TestCommandsArePutDown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	script, _, err := runWith(t, nil, "completion", "bash")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, place := range regexp.MustCompile(`(?m)^    "([a-z ]+)"\) words="(.*)" ;;$`).FindAllStringSubmatch(script, -1) {
		path, words := place[1], strings.Fields(place[2])
		if !strings.Contains(place[2], "--url") { // not a command that asks a gateway
			continue
		}
		n++
		_, row, found := strings.Cut(page, "\n| `"+path)
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Errorf("%s is not on the page", path)
		}
		for _, flag := range words {
			switch flag {
			case "--help", "--url", "--token", "--timeout", "--json":
			default:
				if !strings.Contains(row, "`"+flag+"`") {
					t.Errorf("%s: %s is not on the page", path, flag)
				}
			}
		}
		for _, flag := range regexp.MustCompile("`(--[a-z-]+)`").FindAllStringSubmatch(row, -1) {
			if !strings.Contains(place[2]+" ", flag[1]+" ") {
				t.Errorf("%s has no %s", path, flag[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d commands found", n)
	}
	for _, code := range []string{"| 0 |", "| 2 | invalid", "| 3 | unknown", "| 4 | denied", "| 5 | busy", "| 6 | conflict", "| 7 | gone", "| 8 | |", "| 9 | |"} {
		if !strings.Contains(page, "\n"+code) {
			t.Errorf("%q is not on the page", code)
		}
	}
}
