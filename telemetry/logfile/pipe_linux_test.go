package logfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestAPipeWithoutAReaderIsOpened opens a named pipe without a reader, and once more.
func TestAPipeWithoutAReaderIsOpened(t *testing.T) {
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

// TestAReaderThatStandsStillDoesNotHoldUpReopening moves a pipe away into which more is written than it holds.
func TestAReaderThatStandsStillDoesNotHoldUpReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file := opened(t, Options{Path: path})
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // It has been read to its end.
	long := bytes.Repeat([]byte("x"), 1<<20)
	var writing sync.WaitGroup
	writing.Go(func() { _, err = file.Write(long) })
	if _, err := io.ReadFull(reader, make([]byte, 1)); err != nil { // The write has begun, and does not fit.
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // The first of the new files is never written to.
		if err := file.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	rest, failed := io.ReadAll(io.LimitReader(reader, int64(len(long)-1)))
	writing.Wait()
	if err != nil || failed != nil || len(rest) != len(long)-1 {
		t.Errorf("the old file took %d bytes: %v, %v", len(rest), err, failed)
	}
	if open := files(t, path+".old"); open != 1 {
		t.Errorf("the old file is open %d times, and once by its reader", open)
	}
	write(t, file, "new\n")
	if text := content(t, path); text != "new\n" {
		t.Errorf("the new file holds %q", text)
	}
	if open := files(t, path); open != 1 {
		t.Errorf("the new file is open %d times", open)
	}
}

// files counts the descriptors of this process that are the file.
func files(t *testing.T, path string) int {
	t.Helper()
	wanted, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, name := range names {
		if stat, err := os.Stat(name); err == nil && os.SameFile(stat, wanted) {
			count++
		}
	}
	return count
}
