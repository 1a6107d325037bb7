package document

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path("file"), path("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "link"} {
		if content, err := ReadRegular(path(name), 4); err != nil || string(content) != "text" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	for name, reason := range map[string]string{
		"pipe": "not a regular file", ".": "is a directory", "absent": "no such file", "file": "larger than 3 bytes",
	} {
		if _, err := ReadRegular(path(name), 3); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: error %v, want %q", name, err, reason)
		}
	}
}
