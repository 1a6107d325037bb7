package forward

import (
	"io"
	"math"
	"net/http"
	"sync"
	"time"
)

// flusher writes a response and sees to it that bytes do not wait too long in the server's buffers. It starts no
// goroutine: a timer flushes what is late.
type flusher struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	// interval is the longest wait; 0 is no limit.
	interval time.Duration
	// each flushes after each write, so that the timer only serves the head.
	each bool

	// mutex keeps a late flush of the timer apart from writes and from the time after the handler's return.
	mutex   sync.Mutex
	timer   *time.Timer
	pending bool
	stopped bool
}

// arm starts the clock for the head, which has been written.
func (f *flusher) arm() {
	f.pending = true
	// The timer must be in place before it can fire.
	f.timer = time.AfterFunc(math.MaxInt64, f.late)
	f.timer.Reset(f.interval)
}

func (f *flusher) stop() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.stopped = true
	f.timer.Stop()
}

func (f *flusher) late() {
	if !f.mutex.TryLock() {
		// A write is under way, and may be for long: the client is slow.
		f.timer.Reset(f.interval)
		return
	}
	defer f.mutex.Unlock()
	if f.pending && !f.stopped {
		f.flush()
	}
}

func (f *flusher) flush() {
	f.pending = false
	// A writer that can't flush has nothing that could wait, and a broken connection shows at the next write.
	_ = f.control.Flush()
}

// write writes p, of which more says that it is not the end.
func (f *flusher) write(p []byte, more bool) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, err := f.writer.Write(p); err != nil {
		return err
	}
	switch {
	case f.each:
		if more {
			f.flush()
		}
	case f.interval > 0 && !f.pending:
		f.pending = true
		f.timer.Reset(f.interval)
	}
	return nil
}

// destination returns where a body goes that is written in one call. That is the server's own writer where nothing is flushed, or one that
// may move bytes within the kernel where the server keeps none of them back: what another kept back nobody could flush.
func (f *flusher) destination() io.Writer {
	if f.interval == 0 {
		return f.writer
	}
	if splicer, ok := f.writer.(interface{ Splices() bool }); ok && splicer.Splices() {
		return (*splicing)(f)
	}
	return (*flushing)(f)
}

// flushing is a flusher as a writer.
type flushing flusher

// Write writes p, which is flushed in time.
func (f *flushing) Write(p []byte) (int, error) {
	if err := (*flusher)(f).write(p, true); err != nil {
		return 0, err
	}
	return len(p), nil
}

// splicing is a flusher as a writer that can take a body from a socket by itself.
type splicing flusher

// Write writes p, which is flushed in time.
func (s *splicing) Write(p []byte) (int, error) { return (*flushing)(s).Write(p) }

// ReadFrom hands the source to the server's writer, which leaves nothing to flush.
func (s *splicing) ReadFrom(source io.Reader) (int64, error) {
	f := (*flusher)(s)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.pending = false
	f.timer.Stop()
	return io.Copy(f.writer, source)
}
