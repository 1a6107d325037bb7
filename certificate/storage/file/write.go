package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// write replaces the content of a file. After an error, the file is as it was.
func (s *Store) write(path string, text []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // It does not exist, or the next step says why.
	}
	if s.inPlace.Load() && path == s.path {
		return s.overwrite(target, text)
	}
	err = s.replace(target, text)
	if !errors.Is(err, syscall.EBUSY) {
		return err
	}
	s.inPlace.Store(true)
	s.logger.Warn("the file with certificates is a mount of its own and can't be replaced atomically, so it is written "+
		"in place: mount its folder instead", "file", path, "copy", target+suffixCopy)
	return s.overwrite(target, text)
}

// replace writes a new file beside the old one, and gives it the old one's name and owner.
func (s *Store) replace(target string, text []byte) error {
	temporary := target + suffixNew
	if err := create(temporary, text); err != nil {
		return err
	}
	if old, err := os.Stat(target); err == nil {
		if owner, ok := old.Sys().(*syscall.Stat_t); ok {
			_ = os.Chown(temporary, int(owner.Uid), int(owner.Gid)) // Only root may give files away.
		}
	}
	if err := s.rename(temporary, target); err != nil {
		_ = os.Remove(temporary) // The first error says more.
		return err
	}
	return syncFolder(filepath.Dir(target))
}

// create writes a file that did not exist, or is left from a process that died, and returns when it is on the disk.
func create(path string, text []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // The path is an option.
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path) // The first error says more.
	}
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // The path is an option.
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // It was only read.
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err // Some file systems do not sync folders, and say EINVAL.
	}
	return nil
}

// overwrite writes over the content of a file that can't be replaced. A copy of the old content is beside it, if that
// is possible. The space for a longer text is taken first, so that a full disk leaves the old content.
func (s *Store) overwrite(target string, text []byte) error {
	old, err := os.ReadFile(target) //nolint:gosec // The path is an option.
	if err != nil {
		return err
	}
	if err := create(target+suffixCopy, old); err != nil {
		s.logger.Warn("no copy of the file with certificates is kept while it is written in place", "file", target,
			"reason", err.Error())
	}
	file, err := os.OpenFile(target, os.O_WRONLY, 0) //nolint:gosec // The path is an option.
	if err != nil {
		return err
	}
	err = overwrite(file, len(old), text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("writing in place: %w", err)
	}
	return nil
}

// overwrite replaces the content of a file, which has the given length.
func overwrite(file *os.File, length int, text []byte) error {
	if tail := text[min(length, len(text)):]; len(tail) > 0 {
		_, err := file.WriteAt(tail, int64(length))
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			return errors.Join(err, file.Truncate(int64(length)))
		}
	}
	if _, err := file.WriteAt(text[:min(length, len(text))], 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(text))); err != nil {
		return err
	}
	return file.Sync()
}
