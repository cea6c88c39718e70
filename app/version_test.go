package app

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionLine(t *testing.T) {
	t.Parallel()
	built := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	for _, tt := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{built, "flowgate v1.2.3 0123456789ab modified go"},
		{&debug.BuildInfo{}, "flowgate (devel) go"},
	} {
		if got := versionLine(tt.info); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q, want it to begin with %q", got, tt.want)
		}
	}
}
