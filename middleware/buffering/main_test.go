package buffering_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onlyReader hides the length of a body.
type onlyReader struct{ io.Reader }

// temporary gives the test a directory for temporary files of its own, which must be empty whenever it is checked.
func temporary(t *testing.T) (empty func()) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	return func() {
		t.Helper()
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("%d files have a name, %v", len(entries), err)
		}
	}
}

// open counts the temporary files that are open.
func open(t *testing.T) (count int) {
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
