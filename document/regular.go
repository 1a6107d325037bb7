package document

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// errNotRegular is the error for pipes and devices, which could block a reader.
var errNotRegular = errors.New("not a regular file")

// ReadRegular returns the content of a regular file of at most limit bytes. It fails without blocking for other kinds
// of files; symbolic links are followed. Errors contain the path.
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
