package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// version prints what this binary was built from; its result is the exit code.
func version(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sluice version", flag.ContinueOnError)
	flags.SetOutput(stderr)
	if code, done := parseFlags(flags, args); done {
		return code
	}
	build, _ := debug.ReadBuildInfo() // Absent only if the linker omits it.
	_, _ = io.WriteString(stdout, describeBuild(build))
	return 0
}

// describeBuild returns version, commit, Go version and platform, one a line.
func describeBuild(build *debug.BuildInfo) string {
	var tag, commit, modified string
	if build != nil {
		tag = build.Main.Version
		for _, setting := range build.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				modified = " (modified)"
			}
		}
	}
	return fmt.Sprintf("version: %s\ncommit:  %s%s\ngo:      %s\nos/arch: %s/%s\n",
		cmp.Or(tag, "unknown"), cmp.Or(commit, "unknown"), modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
