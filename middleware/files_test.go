package middleware

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read reads a file for a middleware, and watches it.
func read(files *Files, name, path string) ([]byte, error) {
	var reads Reads
	text, err := reads.ReadFile(path)
	files.Watch(name, &reads)
	return text, err
}

// TestFilesReportWhoseChanged looks at files in every state that they can have.
func TestFilesReportWhoseChanged(t *testing.T) {
	folder := t.TempDir()
	users, absent := filepath.Join(folder, "users"), filepath.Join(folder, "absent")
	write(t, users, "a")
	files := NewFiles()
	if text, err := read(files, "a@file", users); err != nil || string(text) != "a" {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := read(files, "b@file", absent); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_, _ = read(files, "c@file", users)
	looks := func(want ...string) {
		t.Helper()
		files.look()
		if got := files.Stale(); !slices.Equal(got, want) {
			t.Errorf("stale is %q, want %q", got, want)
		}
	}
	looks()
	write(t, absent, "b")
	looks() // It may be half of the file.
	write(t, absent, "b is longer")
	looks()
	looks("b@file")
	looks()
	replaced := users + ".new" // The way of editors, and of mounted Secrets.
	write(t, replaced, "x")
	if err := os.Rename(replaced, users); err != nil {
		t.Fatal(err)
	}
	files.Forget("c@file")
	looks()
	looks("a@file")
	if err := os.Remove(users); err != nil {
		t.Fatal(err)
	}
	looks()
	looks("a@file")
	looks()
}

// TestFilesAreRegularAndBounded has files that would block or take all memory; they are watched nevertheless.
func TestFilesAreRegularAndBounded(t *testing.T) {
	folder := t.TempDir()
	pipe, large := filepath.Join(folder, "pipe"), filepath.Join(folder, "large")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, large, "")
	if err := os.Truncate(large, largest+1); err != nil {
		t.Fatal(err)
	}
	files := NewFiles()
	var reads Reads
	for _, path := range []string{pipe, large, "/dev/zero", folder} {
		if text, err := reads.ReadFile(path); err == nil {
			t.Errorf("read %d bytes of %s", len(text), path)
		}
	}
	if err := os.Truncate(large, largest); err != nil {
		t.Fatal(err)
	}
	if text, err := reads.ReadFile(large); err != nil || len(text) != largest {
		t.Errorf("read %d bytes, %v", len(text), err)
	}
	files.Watch("a@file", &reads)
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	write(t, pipe, "a")
	files.look()
	files.look()
	if got := files.Stale(); !slices.Equal(got, []string{"a@file"}) {
		t.Errorf("stale is %q", got)
	}
}

func TestFilesRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	write(t, path, "a")
	synctest.Test(t, func(t *testing.T) {
		files := NewFiles()
		_, _ = read(files, "a@file", path)
		go files.Run(t.Context())
		write(t, path, "longer")
		start := time.Now()
		<-files.Changed()
		if took := time.Since(start); took != 2*lookEvery {
			t.Errorf("notified after %v", took)
		}
		if got := files.Stale(); !slices.Equal(got, []string{"a@file"}) {
			t.Errorf("stale is %q", got)
		}
	})
}
