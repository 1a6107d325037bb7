package logfile

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestAPipeThatNobodyReadsIsOpened opens a named pipe before anybody reads it, and once more.
func TestAPipeThatNobodyReadsIsOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file := opened(t, Options{Path: path})
	write(t, file, "one\n")
	if err := file.Reopen(); err != nil {
		t.Fatal(err)
	}
	write(t, file, "two\n")
}
