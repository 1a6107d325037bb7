package forward

import (
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

// flusher writes a response and bounds how long bytes wait in the server's buffers. It starts no goroutine: a
// timer flushes late bytes.
type flusher struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	// interval is the longest wait; 0 is no limit.
	interval time.Duration
	// each flushes after each write, or before each wait; the timer then serves only the head.
	each bool

	// mutex serializes the timer's flush with writes and with the handler's return.
	mutex sync.Mutex
	timer *time.Timer
	// unflushed says that something was written and not flushed, at first the head; written that more than the
	// head was written; pending that the timer is set.
	unflushed, written, pending bool
	stopped                     bool
}

// arm starts the timer.
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

// Waiting is called before a wait for the endpoint: it flushes what was written of a streaming response, and
// starts the timer for a head alone, or for any other response.
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
		// A write is in progress and may take long: the client is slow.
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
	// A writer that can't flush buffers nothing, and a broken connection shows at the next write.
	_ = f.control.Flush()
}

// write writes p; more says that the body goes on.
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

// destination returns the writer for a body that is written in one call. Without an interval it is the server's
// own writer. A writer that splices without buffering gets ReadFrom.
func (f *flusher) destination() io.Writer {
	if f.interval == 0 {
		return f.writer
	}
	if httpio.Splices(f.writer) {
		return (*splicing)(f)
	}
	return (*flushing)(f)
}

// put writes p, to be flushed by Waiting.
func (f *flusher) put(p []byte) (int, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.unflushed, f.written = true, true
	return f.writer.Write(p)
}

// flushing is a flusher as an httpio.WaitNotifier.
type flushing flusher

// Write writes p, which is flushed in time.
func (f *flushing) Write(p []byte) (int, error) { return (*flusher)(f).put(p) }

// Waiting flushes what is due.
func (f *flushing) Waiting() { (*flusher)(f).Waiting() }

// splicing is a flusher as an httpio.WaitNotifier with ReadFrom.
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

// rest flushes the remainder of a streaming response when its endpoint breaks off, before the connection is
// cut.
func (f *flusher) rest() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.each && f.unflushed {
		f.flush()
	}
}
