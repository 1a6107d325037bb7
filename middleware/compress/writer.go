package compress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// errEnded is the error of calls after the handler has returned.
var errEnded = errors.New("compress: the response has ended")

type state uint8

const (
	undecided state = iota
	passing
	compressing
	ended
)

// writer is the writer of one response. It holds the head and the beginning of the body until the decision, and then
// passes everything to the server's writer or to an encoder.
type writer struct {
	inner    http.ResponseWriter
	compress *Compress
	coding   *coding
	// passes is set, readable without the mutex, in the final state passing. The server's writer handles late calls.
	passes atomic.Bool

	// mutex serializes writes, periodic flushes, and late calls.
	mutex sync.Mutex
	state state
	// status is 0 before WriteHeader.
	status int
	kept   kept
	// declared is the Content-Length, written the bytes written so far.
	declared, written int64
	held              []byte
	stream            *stream
	// fresh is set if the encoder has unflushed data.
	fresh bool
}

func (w *writer) Header() http.Header { return w.inner.Header() }

// Unwrap returns the server's writer, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.inner }

// WriteHeader passes informational responses on, and holds a final one until the decision.
func (w *writer) WriteHeader(status int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch {
	case w.state == passing, status < 200 && status != http.StatusSwitchingProtocols, status > 999:
		w.inner.WriteHeader(status)
	case w.state == undecided && w.status == 0:
		w.head(status)
	}
}

func (w *writer) Write(p []byte) (int, error) {
	if w.passes.Load() {
		return w.inner.Write(p)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.write(p)
}

func (w *writer) WriteString(s string) (int, error) {
	if w.passes.Load() {
		return io.WriteString(w.inner, s)
	}
	return w.Write([]byte(s))
}

// ReadFrom writes source. An uncompressed response is spliced if the server can.
func (w *writer) ReadFrom(source io.Reader) (int64, error) {
	w.mutex.Lock()
	if w.state == undecided && w.status == 0 {
		w.head(http.StatusOK)
	}
	w.mutex.Unlock()
	if w.passes.Load() {
		return io.Copy(w.inner, source)
	}
	// hides ReadFrom
	return io.Copy(struct{ io.Writer }{w}, source)
}

// Splices reports whether ReadFrom holds no data for Flush.
func (w *writer) Splices() bool {
	return w.passes.Load() && httpio.Splices(w.inner)
}

// Flush sends everything written so far.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError sends everything written so far, in a form that the client can decode. A flush forces the decision, since
// it indicates streaming.
func (w *writer) FlushError() error {
	control := http.NewResponseController(w.inner)
	if w.passes.Load() {
		return control.Flush()
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.state == undecided && w.status == 0 {
		w.head(http.StatusOK)
	}
	if w.state == undecided {
		if err := w.decide(nil); err != nil {
			return err
		}
	}
	switch w.state {
	case ended:
		return errEnded
	case compressing:
		if err := w.drain(); err != nil {
			return err
		}
	}
	return control.Flush()
}

// Hijack hands over the connection with the rest of the response.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.state == ended {
		return nil, nil, errEnded
	}
	if w.state == undecided && w.status != 0 {
		if err := w.pass(); err != nil {
			return nil, nil, err
		}
	}
	conn, buffers, err := http.NewResponseController(w.inner).Hijack()
	if err == nil {
		w.release()
		w.state = passing
		w.passes.Store(true)
	}
	return conn, buffers, err
}

// end completes the response after its handler.
func (w *writer) end() {
	if w.passes.Load() {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer w.release()
	switch {
	case w.state == undecided && w.status != 0:
		_ = w.pass() // the handler has returned
	case w.state == undecided:
		w.compress.counts.skipped.Add(1) // the server answers
	case w.state == compressing && w.declared > w.written:
		// The declared body is incomplete, and the client must be able to detect that.
		w.state = ended
		panic(http.ErrAbortHandler)
	case w.state == compressing:
		dropDigests(w.inner.Header())
		if w.stream.err == nil && w.stream.encoder.Close() == nil {
			_ = w.stream.spill() // the client has gone
		}
	}
	if w.state != passing {
		w.state = ended
	}
}

// reset prepares the writer for reuse.
func (w *writer) reset() {
	w.passes.Store(false)
	w.inner, w.coding, w.kept.header, w.held = nil, nil, nil, nil
	w.state, w.status, w.written, w.fresh = undecided, 0, 0, false
}

// abandon ends the response of a handler that has panicked: the server aborts it, or answers itself if nothing was
// sent.
func (w *writer) abandon() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.release()
	if w.state != passing {
		w.state = ended
	}
}
