package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) v(\d+)\.(\d+)\.(\d+)(\S*)`)

// requirements are the versions that a go.mod asks for, as numbers that compare.
func requirements(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
		version := 0
		for _, part := range m[2:5] {
			n, err := strconv.Atoi(part)
			if err != nil {
				t.Fatal(err)
			}
			version = version*10_000 + min(n, 9999)
		}
		all[m[1]] = version
	}
	return all
}

// The module of the peers is built with this one in place of a release, so it must ask for what this one asks for.
func TestThePeersModuleFollowsThisOne(t *testing.T) {
	ours, theirs := requirements(t, "../go.mod"), requirements(t, "peers/go.mod")
	shared := 0
	for module, version := range theirs {
		if strings.HasPrefix(module, "github.com/flowgate-go/") {
			continue
		}
		if asked, ok := ours[module]; ok {
			if shared++; version < asked {
				t.Errorf("peers/go.mod asks for an older %s: go mod tidy in bench/peers", module)
			}
		}
	}
	if shared < 3 {
		t.Errorf("%d shared modules, want the driver among others", shared)
	}
}
