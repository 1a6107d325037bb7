package log

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// A pipe whose reader stands still must cost the end of Sluice no more than its time, and SIGUSR1 none.
func TestAPipeThatIsFullHoldsTheEndUpForASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	logs, err := New(static.Log{FilePath: path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // It has been read.
	line := strings.Repeat("x", 256<<10)
	logs.For(SubsystemMain).Info(line)
	if _, err := io.ReadFull(reader, make([]byte, 1)); err != nil { // The line is being written, and does not fit.
		t.Fatal(err)
	}
	if err := logs.Reopen(); err != nil {
		t.Error(err)
	}
	began := time.Now()
	if err := logs.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < closeTimeout {
		t.Errorf("the log was given %v, want %v", took, closeTimeout)
	}
	rest := make([]byte, len(line))
	if _, err := io.ReadFull(reader, rest); err != nil || !bytes.Contains(rest, []byte("xxx")) {
		t.Errorf("%v", err)
	}
	<-logs.writer.done
}
