package replay_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/httpio/replay/replaytest"
)

func TestSpool(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	const inMemory = 100_000
	write := map[string]func(s *replay.Spool, text string) (int64, error){
		"ReadFrom": func(s *replay.Spool, text string) (int64, error) { return s.ReadFrom(strings.NewReader(text)) },
		"halves": func(s *replay.Spool, text string) (int64, error) {
			return s.ReadFrom(iotest.HalfReader(strings.NewReader(text)))
		},
		"end": func(s *replay.Spool, text string) (int64, error) {
			return s.ReadFrom(iotest.DataErrReader(strings.NewReader(text)))
		},
		"Write": func(s *replay.Spool, text string) (int64, error) {
			n, err := s.Write([]byte(text))
			return int64(n), err
		},
		"pieces": func(s *replay.Spool, text string) (total int64, err error) {
			for piece := range strings.SplitAfterSeq(text, "\n") {
				n, err := s.Write([]byte(piece))
				if total += int64(n); err != nil {
					return total, err
				}
			}
			return total, nil
		},
	}
	for name, write := range write {
		for _, size := range []int{0, 1, inMemory - 1, inMemory, inMemory + 1, 3 * inMemory} {
			for _, limit := range []int64{0, int64(size), int64(size) - 1} {
				if limit < 0 || limit == 0 && size == 1 {
					continue
				}
				memory := replay.NewMemory(bound)
				s := replay.Spool{InMemory: inMemory, Limit: limit, Memory: memory}
				text := strings.Repeat("0123456789\n", size/11+1)[:size]
				n, err := write(&s, text)
				small := limit > 0 && limit < int64(size)
				if small != errors.Is(err, replay.ErrTooLarge) || !small && (err != nil || n != int64(size) || s.Len() != n) {
					t.Errorf("%s, %d bytes, limit %d: %d, %v", name, size, limit, n, err)
				}
				if filed := replaytest.OpenFiles(t) > 0; filed != (size > inMemory) && err == nil {
					t.Errorf("%s, %d bytes: on disk %v", name, size, filed)
				}
				if lent := bound - memory.Left(); lent > inMemory {
					t.Errorf("%s, %d bytes: %d bytes of memory", name, size, lent)
				}
				var out bytes.Buffer
				if _, failed := s.WriteTo(&out); failed != nil || err == nil && out.String() != text {
					t.Errorf("%s, %d bytes: something else comes back, %v", name, size, failed)
				}
				if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
					t.Errorf("%d files have a name, %v", len(entries), err)
				}
				s.Release()
				s.Release()
				equal(t, "memory", []int64{memory.Left(), s.Len()}, []int64{bound, 0})
			}
		}
	}
	equal(t, "open files", replaytest.OpenFiles(t), 0)
}

// TestSpoolErrors stay.
func TestSpoolErrors(t *testing.T) {
	s := replay.Spool{Limit: 10}
	for _, size := range []int{11, 1} {
		if _, err := s.Write(make([]byte, size)); !errors.Is(err, replay.ErrTooLarge) ||
			!errors.Is(s.Err(), replay.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	}
	broken := errors.New("broken")
	s = replay.Spool{}
	n, err := s.ReadFrom(io.MultiReader(strings.NewReader("body"), iotest.ErrReader(broken)))
	equal(t, "broken", []any{n, errors.Is(err, broken)}, []any{int64(4), true})

	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	s = replay.Spool{InMemory: 10}
	for _, size := range []int{11, 1} {
		_, err = s.Write(make([]byte, size))
		if err == nil || !strings.HasPrefix(err.Error(), "buffering on disk: ") || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	}
}
