// Package replaytest has what tests of buffered bodies share.
package replaytest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// OpenFiles counts the temporary files of bodies that are open.
func OpenFiles(t testing.TB) (count int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("open files are counted on Linux only")
	}
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.Contains(target, "sluice-buffering-") {
			count++
		}
	}
	return count
}
