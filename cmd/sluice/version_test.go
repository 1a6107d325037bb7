package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	goLines := "go:      " + runtime.Version() + "\nos/arch: " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	tests := []struct {
		name  string
		build *debug.BuildInfo
		want  string
	}{
		{"release", &debug.BuildInfo{
			Main:     debug.Module{Version: "v1.2.3"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "false"}},
		}, "version: v1.2.3\ncommit:  0123abc\n"},
		{"changed tree", &debug.BuildInfo{
			Main:     debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0123abc"}},
		}, "version: (devel)\ncommit:  0123abc (modified)\n"},
		{"nothing known", nil, "version: unknown\ncommit:  unknown\n"},
	}
	for _, test := range tests {
		if got := describeBuild(test.build); got != test.want+goLines {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want+goLines)
		}
	}
}

func TestVersionTakesNoArguments(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run([]string{"version"}, nil, &stdout, &stderr); code != 0 || !strings.HasPrefix(stdout.String(), "version: ") {
		t.Errorf("exit code %d, output %q", code, stdout.String())
	}
	if code := run([]string{"version", "please"}, nil, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(),
		`unexpected argument "please"`) {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}
