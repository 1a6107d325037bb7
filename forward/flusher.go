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
	// each flushes after each write, or before each wait, so that the timer only serves the head.
	each bool

	// mutex keeps a late flush of the timer apart from writes and from the time after the handler's return.
	mutex sync.Mutex
	timer *time.Timer
	// unflushed says that something was written that was not flushed, the head to begin with; written that it is more than the head;
	// pending that the timer will see to it.
	unflushed, written, pending bool
	stopped                     bool
}

// arm starts the clock.
func (f *flusher) arm() {
	f.pending = true
	if f.timer != nil {
		f.timer.Reset(f.interval)
		return
	}
	// The timer must be in place before it can fire.
	f.timer = time.AfterFunc(math.MaxInt64, f.late)
	f.timer.Reset(f.interval)
}

// Waiting sees to it that nothing waits too long while the endpoint is waited for: what was written of a response that streams is flushed,
// and its head alone, or what was written of any other, gets a clock.
func (f *flusher) Waiting() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case !f.unflushed:
	case f.each && f.written:
		f.flush()
	case f.interval > 0 && !f.pending:
		f.arm()
	}
}

func (f *flusher) stop() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.stopped = true
	if f.timer != nil {
		f.timer.Stop()
	}
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
	f.pending, f.unflushed = false, false
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

// put writes p, which Waiting sees to.
func (f *flusher) put(p []byte) (int, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.unflushed, f.written = true, true
	return f.writer.Write(p)
}

// flushing is a flusher as a writer that is told before more is waited for.
type flushing flusher

// Write writes p, which is flushed in time.
func (f *flushing) Write(p []byte) (int, error) { return (*flusher)(f).put(p) }

// Waiting flushes what is due.
func (f *flushing) Waiting() { (*flusher)(f).Waiting() }

// splicing is a flusher as a writer that can take a body from a socket by itself.
type splicing flusher

// Write writes p, which is flushed in time.
func (s *splicing) Write(p []byte) (int, error) { return (*flusher)(s).put(p) }

// Waiting flushes what is due.
func (s *splicing) Waiting() { (*flusher)(s).Waiting() }

// ReadFrom hands the source to the server's writer, which leaves nothing to flush.
func (s *splicing) ReadFrom(source io.Reader) (int64, error) {
	f := (*flusher)(s)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.unflushed, f.pending = false, false
	return io.Copy(f.writer, source)
}

// rest flushes what a response that streams has left when its endpoint breaks off: the connection is about to be cut.
func (f *flusher) rest() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.each && f.unflushed {
		f.flush()
	}
}
