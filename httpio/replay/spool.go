package replay

import (
	"errors"
	"io"
	"os"
)

// filePrefix begins the names of temporary files while they have one.
const filePrefix = "sluice-buffering-"

// DiskError is the error of a temporary file.
type DiskError struct{ err error }

// Error returns the system's error.
func (e *DiskError) Error() string { return "buffering on disk: " + e.err.Error() }

// Unwrap returns the system's error.
func (e *DiskError) Unwrap() error { return e.err }

// Meter follows the memory of a body. Its methods are called by the goroutine that uses the Spool.
type Meter interface {
	// Held is called when the memory has grown by so many bytes, or shrunk.
	Held(change int64)
	// Ended returns why nothing more is to be held, which is the error of Write and ReadFrom then, or nil.
	Ended() error
}

// Spool holds the bytes of a body: the first in memory, the rest in a temporary file. The zero value holds all in
// memory. Its methods are called by one goroutine at a time.
type Spool struct {
	// Memory lends the memory; nil allocates it.
	Memory *Memory
	// InMemory is how many bytes are held in memory; 0 is all.
	InMemory int64
	// Limit is how many bytes are accepted; 0 is no limit.
	Limit int64
	// Meter follows the memory; nil is none.
	Meter Meter

	data []byte
	file *file
	err  error
}

// file is a temporary file. Its name is removed at once, so that the system frees its space whatever becomes of the
// process; where files in use keep their names, that is done at the end.
type file struct {
	*os.File
	named bool
	size  int64
}

// Len returns how many bytes there are.
func (s *Spool) Len() int64 {
	if s.file == nil {
		return int64(len(s.data))
	}
	return int64(len(s.data)) + s.file.size
}

// Err returns the error of a Write that failed.
func (s *Spool) Err() error { return s.err }

// Write appends p. Its errors are ErrTooLarge, a *DiskError and that of the Meter, which all calls that follow return,
// too.
func (s *Spool) Write(p []byte) (int, error) {
	if s.err == nil && s.Meter != nil {
		s.err = s.Meter.Ended()
	}
	if s.err == nil {
		s.err = s.append(p, 0, true)
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// append appends p, of a body whose expected length is a hint. The Memory may refuse it, unless it must be held.
func (s *Spool) append(p []byte, expected int64, must bool) error {
	size := s.Len() + int64(len(p))
	if s.Limit > 0 && size > s.Limit {
		return ErrTooLarge
	}
	if s.file == nil {
		if s.InMemory > 0 {
			size = min(size, s.InMemory)
		}
		if !s.reserve(size, expected, must) {
			return errMemory
		}
		n := copy(s.data[len(s.data):size], p)
		s.data, p = s.data[:size], p[n:]
	}
	if len(p) == 0 {
		return nil
	}
	return s.save(p)
}

// reserve makes room for size bytes in memory.
func (s *Spool) reserve(size, expected int64, must bool) bool {
	return size <= int64(cap(s.data)) || s.grow(size, expected, must)
}

// grow makes room for size bytes in memory, which is more than there is.
func (s *Spool) grow(size, expected int64, must bool) (ok bool) {
	before := cap(s.data)
	s.data, ok = s.Memory.grow(s.data, size, max(s.InMemory, expected), expected, must)
	s.measure(cap(s.data) - before)
	return ok
}

// measure has the Meter follow a change of the memory.
func (s *Spool) measure(change int) {
	if s.Meter != nil && change != 0 {
		s.Meter.Held(int64(change))
	}
}

// save appends p to the file.
func (s *Spool) save(p []byte) error {
	if s.file == nil {
		created, err := os.CreateTemp("", filePrefix)
		if err != nil {
			return &DiskError{err}
		}
		s.file = &file{File: created, named: os.Remove(created.Name()) != nil}
	}
	n, err := s.file.Write(p)
	s.file.size += int64(n)
	if err != nil {
		return &DiskError{err}
	}
	return nil
}

// ReadFrom appends the source. Other errors than those of Write are the source's.
func (s *Spool) ReadFrom(source io.Reader) (int64, error) {
	before := s.Len()
	var beyond *Buffer
	for {
		into := s.room()
		if len(into) == 0 {
			if beyond == nil {
				beyond = new(Buffer)
			}
			into = beyond[:]
		}
		n, err := source.Read(into)
		// What was read into the room is copied onto itself.
		if _, failed := s.Write(into[:n]); failed != nil {
			return s.Len() - before, failed
		}
		if errors.Is(err, io.EOF) {
			return s.Len() - before, nil
		}
		if err != nil {
			return s.Len() - before, err
		}
	}
}

// room returns free memory behind what there is, or nothing if the rest belongs into the file.
func (s *Spool) room() []byte {
	have := int64(len(s.data))
	if s.file != nil || s.InMemory > 0 && have >= s.InMemory {
		return nil
	}
	if have == int64(cap(s.data)) && !s.grow(have+1, 0, true) {
		return nil
	}
	room := s.data[have:cap(s.data)]
	if s.InMemory > 0 {
		room = room[:min(int64(len(room)), s.InMemory-have)]
	}
	return room
}

// readAt reads from an offset. It may return less than there is.
func (s *Spool) readAt(p []byte, at int64) (int, error) {
	if at < int64(len(s.data)) {
		return copy(p, s.data[at:]), nil
	}
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.Len()-at)], at-int64(len(s.data)))
	if err != nil {
		err = &DiskError{err}
	}
	return n, err
}

// WriteTo writes all bytes.
func (s *Spool) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.data)
	if err != nil || s.file == nil {
		return int64(n), err
	}
	rest, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.file.size))
	return int64(n) + rest, err
}

// Release frees what the Spool holds. It is empty then.
func (s *Spool) Release() {
	s.Memory.free(s.data)
	if s.file != nil {
		_ = s.file.Close() // nothing is left to lose
		if s.file.named {
			_ = os.Remove(s.file.Name()) // a name that stays is the system's to clear
		}
	}
	s.measure(-cap(s.data))
	s.data, s.file, s.err = nil, nil, nil
}
