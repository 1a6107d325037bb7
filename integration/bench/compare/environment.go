package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// environment is the machine and the versions of all programs, one per line.
func (l *lab) environment(ctx context.Context) []string {
	lines := []string{
		fmt.Sprintf("%s, cores %s, %s of memory", firstMatch("/proc/cpuinfo", `model name\s*: (.*)`),
			firstMatch("/sys/devices/system/cpu/online", `(.*)`), firstMatch("/proc/meminfo", `MemTotal:\s*(.*)`)),
		"Linux " + firstMatch("/proc/sys/kernel/osrelease", `(.*)`) + ", " + runtime.GOARCH,
		fmt.Sprintf("%d open files for each process", l.descriptors),
		"Sluice: " + strings.Join(strings.Fields(printed(ctx, l.settings.sluice, "version")), " "),
	}
	for _, version := range [][]string{
		{"nginx", "-v"}, {"haproxy", "-v"}, {"caddy", "version"}, {"wrk", "-v"}, {"h2load", "--version"},
	} {
		if _, err := exec.LookPath(version[0]); err == nil {
			lines = append(lines, version[0]+": "+firstLine(ctx, version...))
		}
	}
	return lines
}

// firstMatch returns the first group of a pattern in a file.
func firstMatch(file, pattern string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	match := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
	if match == nil {
		return "unknown"
	}
	return strings.TrimSpace(match[1])
}

// firstLine returns the first line that a command prints.
func firstLine(ctx context.Context, argv ...string) string {
	line, _, _ := strings.Cut(printed(ctx, argv...), "\n")
	return strings.TrimSpace(line)
}

// printed returns the output of a command, whatever its exit code.
func printed(ctx context.Context, argv ...string) string {
	text, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil && len(text) == 0 {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
