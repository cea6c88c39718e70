package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand says what runs.
type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run(in invocation) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	_, err := fmt.Fprintln(in.stdout, versionLine(info))
	return err
}

// version is that of the main module.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// versionLine is the version of the main module, the commit it was built from where that is known, and the compiler.
func versionLine(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	line := "flowgate " + version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			line += " " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			line += " modified"
		}
	}
	return line + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
