package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lock locks a file, which is created, against other goroutines and processes, and returns what unlocks it. Readers may
// lock it together. Where the file cannot be created, no process can write, and readers need no lock.
func lock(ctx context.Context, path string, exclusive bool) (unlock func(), err error) {
	file, err := openLock(path)
	if err != nil {
		if !exclusive && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
			return func() {}, nil
		}
		return nil, fmt.Errorf("%w (the folder of the file with certificates must exist and be writable)", err)
	}
	locked, err := tryLock(file, exclusive)
	if !locked && err == nil {
		err = awaitLock(ctx, file, exclusive)
	} else if err != nil {
		_ = file.Close() // The first error says more.
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = file.Close() }, nil // Closing unlocks.
}

// awaitLock waits until a file is locked, or ctx ends. It is closed after an error.
func awaitLock(ctx context.Context, file *os.File, exclusive bool) error {
	done := make(chan error, 1)
	go func() { done <- flock(file, exclusive, 0) }()
	select {
	case err := <-done:
		if err != nil {
			_ = file.Close() // The first error says more.
		}
		return err
	case <-ctx.Done():
		go func() { // Nothing interrupts the system, which has the lock at last.
			if err := <-done; err == nil {
				_ = file.Close()
			}
		}()
		return fmt.Errorf("%s is locked by another process: %w", file.Name(), context.Cause(ctx))
	}
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // The path is an option.
}

// tryLock locks a file if no other process has locked it.
func tryLock(file *os.File, exclusive bool) (bool, error) {
	err := flock(file, exclusive, syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func flock(file *os.File, exclusive bool, flags int) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(file.Fd()), how|flags)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking %s: %w", file.Name(), err)
		}
	}
}

// leader is the lock of the leader. The kernel releases it when the process ends.
type leader struct {
	path string
	file *os.File
}

// Acquire locks the file, unless another process has.
func (l *leader) Acquire(ctx context.Context) (bool, error) {
	file, err := openLock(l.path)
	if err != nil {
		return false, err
	}
	locked, err := tryLock(file, true)
	if !locked {
		_ = file.Close() // Nothing was written.
		return false, err
	}
	l.file = file
	return l.Renew(ctx)
}

// Renew reports whether the locked file is still the one at the path. If it was deleted, another process may
// have locked a new one.
func (l *leader) Renew(context.Context) (bool, error) {
	held, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(l.path)
	return err == nil && os.SameFile(held, named), nil
}

// Release unlocks the file.
func (l *leader) Release(context.Context) error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
