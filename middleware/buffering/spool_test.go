package buffering

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// temporary gives the test a directory for temporary files of its own, which must be empty whenever somebody looks.
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
		if target, err := os.Readlink(link); err == nil && strings.Contains(target, filePrefix) {
			count++
		}
	}
	return count
}

func TestSpool(t *testing.T) {
	empty := temporary(t)
	const memory = 100_000
	ways := map[string]func(s *spool, text string) (int64, error){
		"ReadFrom": func(s *spool, text string) (int64, error) { return s.ReadFrom(strings.NewReader(text)) },
		"halves": func(s *spool, text string) (int64, error) {
			return s.ReadFrom(iotest.HalfReader(strings.NewReader(text)))
		},
		"end": func(s *spool, text string) (int64, error) {
			return s.ReadFrom(iotest.DataErrReader(strings.NewReader(text)))
		},
		"Write": func(s *spool, text string) (int64, error) { n, err := s.Write([]byte(text)); return int64(n), err },
		"pieces": func(s *spool, text string) (total int64, err error) {
			for piece := range strings.SplitAfterSeq(text, "\n") {
				n, err := s.Write([]byte(piece))
				if total += int64(n); err != nil {
					return total, err
				}
			}
			return total, nil
		},
	}
	for name, way := range ways {
		for _, size := range []int{0, 1, memory - 1, memory, memory + 1, 3 * memory} {
			for _, limit := range []int64{0, int64(size), int64(size) - 1} {
				if limit < 0 || limit == 0 && size == 1 {
					continue
				}
				s := spool{most: memory, limit: limit}
				text := strings.Repeat("0123456789\n", size/11+1)[:size]
				n, err := way(&s, text)
				if small := limit > 0 && limit < int64(size); small != errors.Is(err, errTooLarge) || !small && (err != nil || n != int64(size)) {
					t.Errorf("%s, %d bytes, limit %d: %d, %v", name, size, limit, n, err)
				}
				if filed := s.file != nil; filed != (size > memory && err == nil) && err == nil {
					t.Errorf("%s, %d bytes: on disk %v", name, size, filed)
				}
				if cap(s.memory) > memory {
					t.Errorf("%s, %d bytes: %d bytes of memory", name, size, cap(s.memory))
				}
				if err == nil {
					var out bytes.Buffer
					first, _ := io.ReadAll(s.reader())
					second, _ := io.ReadAll(s.reader())
					if _, err := s.WriteTo(&out); err != nil || out.String() != text || string(first) != text || string(second) != text {
						t.Errorf("%s, %d bytes: something else comes back", name, size)
					}
				}
				empty()
				s.release()
				s.release()
			}
		}
	}
	if n := open(t); n > 0 {
		t.Errorf("%d files are open", n)
	}
}

func TestSpoolErrors(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	s := spool{most: 10}
	if _, err := s.Write(make([]byte, 11)); err == nil || !strings.HasPrefix(err.Error(), "buffering on disk: ") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	s = spool{most: 10}
	if n, err := s.ReadFrom(io.MultiReader(strings.NewReader("body"), iotest.ErrReader(broken))); n != 4 || !errors.Is(err, broken) {
		t.Errorf("%d, %v", n, err)
	}
	temporary(t)
	s = spool{most: 1}
	_, _ = s.Write([]byte("body"))
	reader := s.reader()
	s.release()
	if _, err := io.ReadAll(reader); !errors.Is(err, os.ErrClosed) {
		t.Errorf("who is late reads %v", err)
	}
}
