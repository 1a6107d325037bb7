package document

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// errNotRegular is what a named pipe or a device gives, which could keep a reader for ever.
var errNotRegular = errors.New("not a regular file")

// ReadRegular returns the content of a file of at most limit bytes. It fails for larger files and for anything but a
// regular file, without waiting for it; symbolic links are followed. Errors name the path.
func ReadRegular(path string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	status, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if status.IsDir() {
		return nil, fmt.Errorf("%s is a directory", path)
	}
	if !status.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, errNotRegular)
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return content, nil
}
