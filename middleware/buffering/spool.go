package buffering

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// filePrefix is what the names of temporary files begin with, for the instant in which they have one.
const filePrefix = "sluice-buffering-"

// errTooLarge says that more came than may.
var errTooLarge = errors.New("larger than the limit")

// diskError says that a temporary file could not be used.
type diskError struct{ err error }

// Error returns what the system said.
func (e *diskError) Error() string { return "buffering on disk: " + e.err.Error() }

// Unwrap returns what the system said.
func (e *diskError) Unwrap() error { return e.err }

// spool holds a body: its beginning in memory, the rest in a file. The file has no name any more once it has been made, so that the system
// takes its space back whatever becomes of the process; where files in use keep their names, release removes it.
type spool struct {
	memory []byte
	// most is how much memory may be used, limit how much there may be in all; 0 is no limit.
	most, limit int64
	file        *os.File
	named       bool
	filed       int64
	// err is the error of a Write, which all that follow return.
	err error
}

// size returns how much there is.
func (s *spool) size() int64 { return int64(len(s.memory)) + s.filed }

// smallest is how much memory is taken at first.
const smallest = 4 << 10

// room returns free memory behind what there is, or nothing when all has been used.
func (s *spool) room() []byte {
	if len(s.memory) == cap(s.memory) && int64(len(s.memory)) < s.most {
		grown := make([]byte, len(s.memory), min(s.most, max(smallest, 2*int64(cap(s.memory)))))
		copy(grown, s.memory)
		s.memory = grown
	}
	return s.memory[len(s.memory):cap(s.memory)]
}

// Write appends p. Its errors are errTooLarge, of which nothing is kept, and a *diskError. All that follow return the
// same error.
func (s *spool) Write(p []byte) (n int, err error) {
	defer func() { s.err = err }()
	if s.err != nil {
		return 0, s.err
	}
	if s.limit > 0 && int64(len(p)) > s.limit-s.size() {
		return 0, errTooLarge
	}
	written := 0
	for s.file == nil && written < len(p) {
		room := s.room()
		if len(room) == 0 {
			break
		}
		n := copy(room, p[written:])
		s.memory = s.memory[:len(s.memory)+n]
		written += n
	}
	if written == len(p) {
		return written, nil
	}
	n, err = s.save(p[written:])
	return written + n, err
}

// save appends p to the file.
func (s *spool) save(p []byte) (int, error) {
	if s.file == nil {
		file, err := os.CreateTemp("", filePrefix)
		if err != nil {
			return 0, &diskError{err}
		}
		s.file = file
		s.named = os.Remove(file.Name()) != nil
	}
	n, err := s.file.Write(p)
	s.filed += int64(n)
	if err != nil {
		return n, &diskError{err}
	}
	return n, nil
}

// ReadFrom appends what source has to say. Other errors than those of Write are source's.
func (s *spool) ReadFrom(source io.Reader) (int64, error) {
	before := s.size()
	var beyond []byte
	for {
		into := s.room()
		if len(into) == 0 || s.file != nil {
			if beyond == nil {
				beyond = make([]byte, 32<<10)
			}
			into = beyond
		}
		n, err := source.Read(into)
		if n > 0 {
			// What lies in the room already is copied onto itself.
			if _, kept := s.Write(into[:n]); kept != nil {
				return s.size() - before, kept
			}
		}
		if errors.Is(err, io.EOF) {
			return s.size() - before, nil
		}
		if err != nil {
			return s.size() - before, err
		}
	}
}

// reader returns a new reader from the beginning. Nothing may be written any more.
func (s *spool) reader() io.Reader {
	if s.file == nil {
		return bytes.NewReader(s.memory)
	}
	return io.MultiReader(bytes.NewReader(s.memory), io.NewSectionReader(s.file, 0, s.filed))
}

// WriteTo writes all of it.
func (s *spool) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.memory)
	if err != nil || s.file == nil {
		return int64(n), err
	}
	rest, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.filed))
	return int64(n) + rest, err
}

// release frees what the spool holds. Readers of the file fail from now on.
func (s *spool) release() {
	if s.file != nil {
		name := s.file.Name()
		_ = s.file.Close() // there is nothing left to lose
		if s.named {
			_ = os.Remove(name) // a name that stays is one of the system's to clear
		}
	}
	*s = spool{}
}

// tooLarge says what a limit was.
func tooLarge(what, option string, limit int64) string {
	return fmt.Sprintf("the %s is larger than %s, %d", what, option, limit)
}
