package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionCommand prints what this binary was built from.
func (p *process) versionCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "print version, commit and Go version",
		Long:  "Print version, commit, Go version and platform of this binary, one a line.\n\nExit codes: 0.",
	}
	p.takes(command, 0, false, func(arguments) int { return p.printVersion() })
	return command
}

func (p *process) printVersion() int {
	build, _ := debug.ReadBuildInfo() // Absent only if the linker omits it.
	_, _ = io.WriteString(p.stdout, describeBuild(build))
	return exitFine
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
