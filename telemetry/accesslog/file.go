package accesslog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluiceproxy/sluice/telemetry/queue"
)

// file is a file, or what takes its place.
type file struct {
	name string
	path string
	// mu guards the writer against abandon alone.
	mu     sync.Mutex
	writer io.Writer
	closer io.Closer
	buffer []byte
	// torn is set when the last write ended within a line.
	torn bool
}

// openSink opens the file, or takes standard output where the path is empty.
func openSink(path string, given io.Writer) (*file, error) {
	if path == "" {
		return &file{name: "stdout", writer: stdout(given)}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("accessLog.filePath: %w", err)
	}
	f := &file{name: path, path: path}
	if err := f.reopen(); err != nil {
		return nil, fmt.Errorf("accessLog.filePath: %w", err)
	}
	return f, nil
}

// reopen opens the path, and closes what was open only when that worked. The file is opened for reading too
// because opening a named pipe without a reader would otherwise block (fifo(7)).
func (f *file) reopen() error {
	if f.path == "" {
		return nil
	}
	opened, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	f.mu.Lock()
	old := f.closer
	f.writer, f.closer, f.torn = opened, opened, false
	f.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.Close()
}

// deliver writes lines in blocks. When a block fails the rest is given up, because a disk that is full stays so
// for a while; part of a line that was written is ended before the next one.
func (f *file) deliver(_ context.Context, lines []*queue.Node[line], appendLine lineAppender) (lost int, err error) {
	begin := 0
	f.begin()
	for i, node := range lines {
		before := len(f.buffer)
		f.buffer = appendLine(f.buffer, &node.Value)
		if len(f.buffer) > block && i > begin {
			written, err := f.flush(before)
			if err != nil {
				return len(lines) - begin - written, err
			}
			begin = i
		}
	}
	written, err := f.flush(len(f.buffer))
	if cap(f.buffer) > 4*block {
		f.buffer = nil
	}
	return len(lines) - begin - written, err
}

// begin empties the buffer but for the end of a torn line.
func (f *file) begin() {
	f.buffer = f.buffer[:0]
	if f.torn {
		f.buffer = append(f.buffer, '\n')
	}
}

// flush writes so much of the buffer, and leaves the rest in it. It returns how many lines were written whole.
func (f *file) flush(size int) (lines int, err error) {
	n, err := f.writer.Write(f.buffer[:size])
	n = min(max(n, 0), size)
	lines = bytes.Count(f.buffer[:n], []byte{'\n'})
	if f.torn && n > 0 {
		lines--
	}
	if n > 0 {
		f.torn = f.buffer[n-1] != '\n'
	}
	if err == nil && n < size {
		err = io.ErrShortWrite
	}
	rest := f.buffer[size:]
	f.begin()
	f.buffer = append(f.buffer, rest...)
	return lines, err
}

// close closes the file, and leaves standard output open.
func (f *file) close(context.Context) error { return f.end() }

func (f *file) end() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closer == nil {
		return nil
	}
	closer := f.closer
	f.closer = nil
	return closer.Close()
}

// abandon closes the file, which ends a blocked write to a pipe.
func (f *file) abandon() { _ = f.end() }
