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

// errEnded is what calls get that come after the handler has returned.
var errEnded = errors.New("compress: the response has ended")

type state uint8

const (
	undecided state = iota
	passing
	compressing
	ended
)

// writer is the writer of one response. Until it is known whether the response is compressed, its head and the
// beginning of its body wait; from then on it either gives everything to the server's writer as it comes, or to an
// encoder.
type writer struct {
	inner    http.ResponseWriter
	compress *Compress
	coding   *coding
	// passes says, without the mutex, that the state is passing, which no other state follows. The server's writer sees to
	// late calls.
	passes atomic.Bool

	// mutex keeps those apart who write, who flush by the clock, and who come after the handler's return.
	mutex sync.Mutex
	state state
	// status is 0 before WriteHeader.
	status int
	kept   kept
	// declared is the body's length, written what the handler has written of it.
	declared, written int64
	held              []byte
	stream            *stream
	// fresh says that the encoder has something that was not flushed.
	fresh bool
}

// Header returns the header of the response.
func (w *writer) Header() http.Header { return w.inner.Header() }

// Unwrap returns the server's writer, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.inner }

// WriteHeader sends informational responses on, and keeps a final one until it is known whether its body is compressed.
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

// Write sends a part of the body.
func (w *writer) Write(p []byte) (int, error) {
	if w.passes.Load() {
		return w.inner.Write(p)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.write(p)
}

// WriteString sends a part of the body.
func (w *writer) WriteString(s string) (int, error) {
	if w.passes.Load() {
		return io.WriteString(w.inner, s)
	}
	return w.Write([]byte(s))
}

// ReadFrom sends what source has to say. What is not compressed goes from socket to socket where the server can.
func (w *writer) ReadFrom(source io.Reader) (int64, error) {
	w.mutex.Lock()
	if w.state == undecided && w.status == 0 {
		w.head(http.StatusOK)
	}
	w.mutex.Unlock()
	if w.passes.Load() {
		return io.Copy(w.inner, source)
	}
	// The wrapper hides ReadFrom.
	return io.Copy(struct{ io.Writer }{w}, source)
}

// Splices reports whether ReadFrom keeps nothing back that Flush would have to send.
func (w *writer) Splices() bool {
	return w.passes.Load() && httpio.Splices(w.inner)
}

// Flush sends what has been written so far.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError sends what has been written so far, in a form that the client can decode. It decides: whoever flushes
// streams.
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

// Hijack hands the connection over, and with it the rest of the response.
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
		_ = w.pass() // who could be told has returned
	case w.state == undecided:
		w.compress.counts.skipped.Add(1) // the server answers
	case w.state == compressing && w.declared > w.written:
		// What was declared will never come, and the client must not take a part for the whole.
		w.state = ended
		panic(http.ErrAbortHandler)
	case w.state == compressing:
		dropDigests(w.inner.Header())
		if w.stream.err == nil && w.stream.encoder.Close() == nil {
			_ = w.stream.spill() // the client has left
		}
	}
	if w.state != passing {
		w.state = ended
	}
}

// reset makes the writer ready for another response. Nobody may keep it.
func (w *writer) reset() {
	w.passes.Store(false)
	w.inner, w.coding, w.kept.header, w.held = nil, nil, nil, nil
	w.state, w.status, w.written, w.fresh = undecided, 0, 0, false
}

// abandon ends the response of a handler that has panicked: the server cuts it off, or answers itself where nothing has
// been sent.
func (w *writer) abandon() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.release()
	if w.state != passing {
		w.state = ended
	}
}
