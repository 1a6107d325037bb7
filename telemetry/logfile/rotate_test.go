package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRotateOff writes to the file that another process has made in the place of a rotated one, whatever its size.
func TestRotateOff(t *testing.T) {
	options := Options{Path: filepath.Join(t.TempDir(), "log"), MaxSize: 1}
	file := opened(t, options)
	write(t, file, "a\n")
	if err := file.Rotate(false); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(strings.Repeat("b", 1023)+"\n", 600)
	for range 2 {
		write(t, file, large)
	}
	if entries, err := os.ReadDir(filepath.Dir(options.Path)); err != nil || len(entries) != 1 {
		t.Errorf("the files are %v, error %v", entries, err)
	}
	rotated := options.Path + ".1"
	if err := os.Rename(options.Path, rotated); err != nil {
		t.Fatal(err)
	}
	write(t, file, "c\n")
	if err := file.Reopen(); err != nil {
		t.Fatal(err)
	}
	write(t, file, "d\n")
	if text := content(t, options.Path); text != "c\nd\n" {
		t.Errorf("the new file has %q", text)
	}
	if text := content(t, rotated); text != "a\n"+large+large {
		t.Errorf("the rotated file has %d bytes", len(text))
	}
	if err := file.Rotate(true); err != nil {
		t.Fatal(err)
	}
	write(t, file, large)
	write(t, file, large)
	if entries, err := os.ReadDir(filepath.Dir(options.Path)); err != nil || len(entries) != 3 {
		t.Errorf("the files are %v, error %v", entries, err)
	}
}

// TestRotateWithoutRotation leaves a file as it is that another program rotates.
func TestRotateWithoutRotation(t *testing.T) {
	file := opened(t, Options{Path: filepath.Join(t.TempDir(), "log")})
	if err := file.Rotate(false); err != nil {
		t.Fatal(err)
	}
	write(t, file, "a\n")
}
