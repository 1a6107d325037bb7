package logfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gopkg.in/natefinch/lumberjack.v2"
)

// TestMain lets the goroutine of lumberjack go on that deletes old files: it has no end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
}

func opened(t *testing.T, options Options) *File {
	t.Helper()
	file, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func write(t *testing.T, file *File, text string) {
	t.Helper()
	if _, err := file.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAFileIsAppendedTo(t *testing.T) {
	for name, options := range map[string]Options{"plain": {}, "rotated": {MaxSize: 1}} {
		options.Path = filepath.Join(t.TempDir(), "log")
		for _, line := range []string{"one\n", "two\n"} {
			file := opened(t, options)
			write(t, file, line)
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if text := content(t, options.Path); text != "one\ntwo\n" {
			t.Errorf("%s: %q", name, text)
		}
		if stat, err := os.Stat(options.Path); err != nil || stat.Mode().Perm()&^mode != 0 {
			t.Errorf("%s: mode %v, %v", name, stat.Mode(), err)
		}
	}
}

func TestAFileThatWasMovedAwayIsMadeAgain(t *testing.T) {
	for name, options := range map[string]Options{"plain": {}, "rotated": {MaxSize: 1}} {
		options.Path = filepath.Join(t.TempDir(), "log")
		file := opened(t, options)
		write(t, file, "one\n")
		if err := os.Rename(options.Path, options.Path+".old"); err != nil {
			t.Fatal(err)
		}
		write(t, file, "two\n")
		if err := file.Reopen(); err != nil {
			t.Fatal(err)
		}
		write(t, file, "three\n")
		if old, text := content(t, options.Path+".old"), content(t, options.Path); old != "one\ntwo\n" || text != "three\n" {
			t.Errorf("%s: moved away %q, new %q", name, old, text)
		}
	}
}

func TestAFileThatCannotBeReopenedGoesOn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := opened(t, Options{Path: filepath.Join(folder, "log")})
	if err := os.Rename(folder, folder+".old"); err != nil {
		t.Fatal(err)
	}
	if err := file.Reopen(); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("error %v", err)
	}
	write(t, file, "one\n")
	if text := content(t, filepath.Join(folder+".old", "log")); text != "one\n" {
		t.Errorf("%q", text)
	}
}

func TestAFileIsRotatedBySize(t *testing.T) {
	folder := t.TempDir()
	file := opened(t, Options{Path: filepath.Join(folder, "sluice.log"), MaxSize: 1, MaxBackups: 5})
	line := append(bytes.Repeat([]byte("x"), 600<<10), '\n')
	for range 2 {
		if _, err := file.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, entry := range files {
		if text := content(t, filepath.Join(folder, entry.Name())); text != string(line) {
			t.Errorf("%s holds %d bytes, want one line", entry.Name(), len(text))
		}
	}
}

func TestAFileThatCannotBeOpenedIsAnError(t *testing.T) {
	for name, options := range map[string]Options{"plain": {}, "rotated": {MaxSize: 1}} {
		options.Path = filepath.Join(t.TempDir(), "missing", "log")
		if _, err := Open(options); err == nil || !strings.Contains(err.Error(), options.Path) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Old files are deleted and compressed in the background, at some time, so that the test checks which options are
// passed.
func TestOptionsOfRotation(t *testing.T) {
	for _, options := range []Options{{}, {MaxSize: 7}, {MaxAge: 7}, {MaxBackups: 7}, {Compress: true}} {
		options.Path = filepath.Join(t.TempDir(), "log")
		rotated, ok := opened(t, options).current.(*lumberjack.Logger)
		if asked := options != (Options{Path: options.Path}); ok != asked {
			t.Errorf("%+v: the file is rotated: %t", options, ok)
		}
		if !ok {
			continue
		}
		told := Options{
			Path: rotated.Filename, MaxSize: rotated.MaxSize, MaxAge: rotated.MaxAge, MaxBackups: rotated.MaxBackups,
			Compress: rotated.Compress,
		}
		if told != options {
			t.Errorf("want %+v, got %+v", options, told)
		}
	}
}
