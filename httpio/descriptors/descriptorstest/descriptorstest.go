//go:build linux

// Package descriptorstest runs tests in processes that may have few file descriptors.
package descriptorstest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// child is the variable that names the test that a process runs with fewer descriptors.
const child = "TEST_DESCRIPTORS_CHILD"

// InChild runs a test in a process of its own that may have so many descriptors, with the binary of the calling test.
// It must be all that the calling test does.
func InChild(t *testing.T, limit uint64, test func(*testing.T)) {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
		test(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), child+"="+t.Name())
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, output)
	}
}

// Fill opens files until the process has no descriptor left, and returns a function that closes so many of those with
// the highest numbers. The rest is closed when the test ends.
func Fill(t *testing.T) (free func(count int)) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	free = func(count int) {
		for range min(count, len(files)) {
			_ = files[len(files)-1].Close()
			files = files[:len(files)-1]
		}
	}
	t.Cleanup(func() { free(len(files)) })
	for {
		file, err := os.Open(name)
		if errors.Is(err, syscall.EMFILE) {
			return free
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
}
