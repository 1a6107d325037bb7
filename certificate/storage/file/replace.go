package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// settledAfter is the age from which the time of a file tells apart its versions, on file systems with coarse times.
const settledAfter = 2 * time.Second

// version identifies the contents of a file.
type version struct {
	modified time.Time
	size     int64
	inode    uint64
}

// stat returns the version of a file; the zero one if it does not exist. A file that others may read is an error, as
// in Traefik.
func stat(path string) (version, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return version{}, nil
	case err != nil:
		return version{}, err
	case !info.Mode().IsRegular():
		return version{}, fmt.Errorf("%s is no regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return version{}, fmt.Errorf("%s has mode %#o, so that others can read its keys: run chmod 600 %s", path,
			info.Mode().Perm(), path)
	}
	v := version{modified: info.ModTime(), size: info.Size()}
	if system, ok := info.Sys().(*syscall.Stat_t); ok {
		v.inode = system.Ino
	}
	return v, nil
}

// readFile returns the contents of a file, nil if it does not exist.
func readFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// replace replaces a file atomically. A file that is mounted by itself, as into a container, cannot be replaced and is
// written in place, after a copy was made.
func (s *Store) replace(path string, text []byte) error {
	err := replaceAtomically(path, text)
	if err == nil || !isMount(path, err) {
		return err
	}
	if !s.inPlace {
		s.inPlace = true
		s.logger.Warn("the file cannot be replaced, so that it is written in place, which is not atomic: mount its folder",
			"file", path, "error", err)
	}
	if before, err := os.ReadFile(path); err == nil && len(before) > 0 {
		_ = writeSynced(path+".bak", before, os.O_TRUNC)
	}
	return writeSynced(path, text, os.O_TRUNC)
}

// isMount reports whether a file exists and cannot be replaced for a reason that does not keep it from being written.
func isMount(path string, err error) bool {
	if _, statErr := os.Stat(path); statErr != nil {
		return false
	}
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, fs.ErrPermission)
}

func replaceAtomically(path string, text []byte) error {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // Has mode 0600.
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes a rename survive a crash.
func syncFolder(folder string) error {
	open, err := os.Open(folder)
	if err != nil {
		return err
	}
	err = open.Sync()
	if errors.Is(err, syscall.EINVAL) { // Some file systems do not synchronize folders.
		err = nil
	}
	return errors.Join(err, open.Close())
}

func writeSynced(path string, text []byte, flags int) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// lock waits until no other process writes. Where the lock file cannot be opened, it warns once and goes on.
func (s *Store) lock() (unlock func(), err error) {
	file, err := os.OpenFile(s.path+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		if !s.unlocked {
			s.unlocked = true
			s.logger.Warn("writes of other processes to the file are not excluded: its lock cannot be opened", "error", err)
		}
		return func() {}, nil
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	return func() { _ = file.Close() }, nil
}

// tryLock locks a file if no process has locked it. The lock ends when the file is closed, or the process ends.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func compareKeys(a, b storage.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resolver, b.Resolver), cmp.Compare(a.ID, b.ID))
}
