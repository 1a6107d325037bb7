package logfile

import "os"

// Rotate switches the rotation of the options off, and on again. While it is off, another process rotates the file, and
// each write goes to the file that has the name then. It does nothing where no rotation is configured.
func (f *File) Rotate(on bool) error {
	if !f.options.rotates() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.turn()
	before := f.current
	if on {
		f.current = newRotated(f.options)
	} else {
		f.current = &follower{path: f.options.Path}
	}
	return before.Close()
}

// follower writes to the file that has a name at the time of each write.
type follower struct {
	path string
	// file is nil before the first write.
	file *os.File
}

// Write appends lines.
func (w *follower) Write(lines []byte) (int, error) {
	if err := w.follow(); err != nil {
		return 0, err
	}
	return w.file.Write(lines)
}

// follow opens the file again where it is another one than before. If that fails, the one before stays in use.
func (w *follower) follow() error {
	if w.file != nil {
		named, err := os.Stat(w.path)
		current, failed := w.file.Stat()
		if err == nil && failed == nil && os.SameFile(named, current) {
			return nil
		}
	}
	opened, err := open(w.path)
	if err != nil {
		if w.file != nil {
			return nil
		}
		return err
	}
	_ = w.Close()
	w.file = opened
	return nil
}

// Close closes the file. The next write opens it again.
func (w *follower) Close() error {
	if w.file == nil {
		return nil
	}
	before := w.file
	w.file = nil
	return before.Close()
}
