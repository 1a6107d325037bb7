package buffering_test

import (
	"io"
	"os"
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
