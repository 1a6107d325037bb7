// Package logfile writes a log into a file that may be renamed while it is written.
//
// In flow whole lines; out flows a file, which is rotated by size and age where configured. Errors such as a
// full disk are returned to the writer.
package logfile

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"gopkg.in/natefinch/lumberjack.v2"
)

// mode is that of a new file: a log may be read by the group that collects it.
const mode = 0o640

// Options are the path of a file, and when it is rotated. Without MaxSize, MaxAge, MaxBackups and Compress it is not.
type Options struct {
	// Path is the file. Its folder exists.
	Path string
	// MaxSize is the size in megabytes at which the file is rotated; 0 is 100.
	MaxSize int
	// MaxAge is for how many days rotated files are kept; 0 is for ever.
	MaxAge int
	// MaxBackups is how many rotated files are kept; 0 is all.
	MaxBackups int
	// Compress compresses rotated files with gzip.
	Compress bool
}

// rotates reports whether rotation is configured.
func (o Options) rotates() bool {
	return o.MaxSize > 0 || o.MaxAge > 0 || o.MaxBackups > 0 || o.Compress
}

// File is an open file. It is safe for use by several goroutines.
type File struct {
	options Options
	// next replaces the open file as soon as no write to it is under way.
	next atomic.Pointer[os.File]

	mu      sync.Mutex
	current io.WriteCloser
}

// Open opens the file for appending and makes it, for its owner and group, where it is not there. The error is
// that of the operating system, and names the file.
func Open(options Options) (*File, error) {
	opened, err := open(options.Path)
	if err != nil {
		return nil, err
	}
	f := &File{options: options, current: opened}
	if options.rotates() {
		if err := opened.Close(); err != nil {
			return nil, err
		}
		f.current = newRotated(options)
	}
	return f, nil
}

// newRotated returns what writes to the file and rotates it. It opens the file with the first write.
func newRotated(options Options) *lumberjack.Logger {
	return &lumberjack.Logger{
		Filename: options.Path, MaxSize: options.MaxSize, MaxAge: options.MaxAge, MaxBackups: options.MaxBackups,
		Compress: options.Compress,
	}
}

// open opens for reading too, where that is allowed: opening a named pipe without a reader would otherwise
// block (fifo(7)).
func open(path string) (*os.File, error) {
	opened, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, mode)
	if errors.Is(err, os.ErrPermission) {
		return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK, mode)
	}
	return opened, err
}

// Write appends whole lines.
func (f *File) Write(lines []byte) (int, error) {
	f.mu.Lock()
	_ = f.turn() // The lines do not go to the file that could not be closed.
	n, err := f.current.Write(lines)
	f.mu.Unlock()
	_ = f.settle()
	return n, err
}

// Reopen opens the file anew under its name. If that fails, writing goes on where it went until now. It does
// not wait for a write that is under way, which may block: the next one goes to the new file.
func (f *File) Reopen() error {
	opened, err := open(f.options.Path)
	if err != nil {
		return err
	}
	if before := f.next.Swap(opened); before != nil {
		_ = before.Close() // Nothing was written to it.
	}
	return f.settle()
}

// settle switches to the next file, or leaves that to the write under way.
func (f *File) settle() error {
	for f.next.Load() != nil && f.mu.TryLock() {
		err := f.turn()
		f.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// turn goes over to the next file, if there is one; the caller holds the mutex.
func (f *File) turn() error {
	opened := f.next.Swap(nil)
	if opened == nil {
		return nil
	}
	switch f.current.(type) {
	case *lumberjack.Logger, *follower:
		_ = opened.Close()
		return f.current.Close() // It opens the file again when it writes.
	}
	before := f.current
	f.current = opened
	return before.Close()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.turn(), f.current.Close())
}
