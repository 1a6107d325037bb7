package middleware

import (
	"os"
	"path/filepath"
	"slices"
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

// TestFilesTellWhoseChanged looks at files in every state that they can have.
func TestFilesTellWhoseChanged(t *testing.T) {
	folder := t.TempDir()
	users, absent := filepath.Join(folder, "users"), filepath.Join(folder, "absent")
	write(t, users, "a")
	files := NewFiles()
	if text, err := files.reader("a@file")(users); err != nil || string(text) != "a" {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := files.reader("b@file")(absent); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_, _ = files.reader("c@file")(users)
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
	files.forget("c@file")
	looks()
	looks("a@file")
	if err := os.Remove(users); err != nil {
		t.Fatal(err)
	}
	looks()
	looks("a@file")
	looks()
}

func TestFilesRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	write(t, path, "a")
	synctest.Test(t, func(t *testing.T) {
		files := NewFiles()
		_, _ = files.reader("a@file")(path)
		go files.Run(t.Context())
		write(t, path, "longer")
		start := time.Now()
		<-files.Changed()
		if took := time.Since(start); took != 2*lookEvery {
			t.Errorf("told after %v", took)
		}
		if got := files.Stale(); !slices.Equal(got, []string{"a@file"}) {
			t.Errorf("stale is %q", got)
		}
	})
}
