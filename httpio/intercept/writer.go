package intercept

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// Writer is a response writer whose Decider decides what becomes of the response. It is meant to be a field of the
// Decider, so that both are one allocation. Methods may be called by one goroutine at a time, except [Writer.End];
// what a goroutine of the handler writes after the handler's return is left to the server's writer.
type Writer struct {
	// ResponseWriter is the server's writer, or one on top of it.
	http.ResponseWriter
	// Decider decides about the response.
	Decider Decider
	// Body receives the body in place of the server's writer, unless it is nil. The Decider may set it.
	Body io.Writer
	// HoldInterim withholds informational responses until the decision, up to 32. They are sent with a response that
	// passes. Otherwise they are sent at once, while the response is undecided.
	HoldInterim bool
	// Informed reports whether an informational response was sent.
	Informed bool
	// Status is the final status, before the Decider has changed it; 0 until there is one.
	Status int
	// Head is the header of a held response at the time of its status. Later changes may be trailers.
	Head http.Header

	// state is a Decision. It is atomic for goroutines that the handler left running.
	state   atomic.Int32
	dropped atomic.Int64
	err     error
	// before is the header before the handler ran, scratch that of a discarded response.
	before, scratch http.Header
	interims        []interim
}

// Reset prepares the Writer for a response to another writer, or for none: nil. Decider and HoldInterim stay as they
// are. No reference to the Writer may be left from an earlier response.
func (w *Writer) Reset(to http.ResponseWriter) {
	*w = Writer{ResponseWriter: to, Decider: w.Decider, HoldInterim: w.HoldInterim}
	if to != nil && len(to.Header()) > 0 {
		w.before = to.Header().Clone()
	}
}

// Decision returns what becomes of the response.
func (w *Writer) Decision() Decision { return Decision(w.state.Load()) }

// Serve calls the handler with a writer that is the Writer or embeds it, and reports whether the handler has
// returned. A panic with [http.ErrAbortHandler] is recovered if the response is held or discarded.
func (w *Writer) Serve(handler http.Handler, outer http.ResponseWriter, r *http.Request) (returned bool) {
	defer func() {
		if returned || w.Decision() < Hold {
			return
		}
		//nolint:errorlint // net/http compares the value of a panic the same way.
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler {
			panic(cause)
		}
	}()
	handler.ServeHTTP(outer, r)
	return true
}

// Begin decides about a response without a status, which is 200, and returns the decision.
func (w *Writer) Begin() Decision {
	if w.Decision() == Undecided {
		w.WriteHeader(http.StatusOK)
	}
	return w.Decision()
}

// Commit sends the head of a held response. What is written from then on passes, and changes of the header after the
// status are trailers.
func (w *Writer) Commit() {
	header := w.ResponseWriter.Header()
	later := maps.Clone(header)
	replace(header, w.Head)
	w.ResponseWriter.WriteHeader(w.Status)
	replace(header, later)
	w.Body = nil
	w.state.Store(int32(Pass))
}

// Restore makes the header that of the time of Reset. The response must not have been sent.
func (w *Writer) Restore() { replace(w.ResponseWriter.Header(), w.before) }

// End refuses what is written from now on with an error, whatever the decision was.
func (w *Writer) End(err error) {
	w.err = err
	w.state.Store(int32(ended))
}

// Header returns the header of the response.
func (w *Writer) Header() http.Header {
	if w.Decision() < Discard {
		return w.ResponseWriter.Header()
	}
	if w.scratch == nil {
		w.scratch = make(http.Header)
	}
	return w.scratch
}

// WriteHeader calls the Decider with the first final status.
func (w *Writer) WriteHeader(status int) {
	switch {
	case w.Decision() != Undecided:
		return
	case status < http.StatusOK && status != http.StatusSwitchingProtocols:
		w.inform(status)
		return
	}
	w.Status = status
	send, decision := w.Decider.Decide(status)
	switch decision {
	case Hold:
		w.Head = maps.Clone(w.ResponseWriter.Header())
	case Pass, PassHead:
		w.sendInterims()
	}
	if w.state.CompareAndSwap(int32(Undecided), int32(decision)) && decision < Hold {
		w.ResponseWriter.WriteHeader(send)
	}
}

// inform sends an informational response, or holds it back.
func (w *Writer) inform(status int) {
	switch {
	case !w.HoldInterim:
		w.Informed = true
		w.ResponseWriter.WriteHeader(status)
	case len(w.interims) < maxInterims:
		w.interims = append(w.interims, interim{status, w.ResponseWriter.Header().Clone()})
	}
}

// sendInterims sends the informational responses that were held back.
func (w *Writer) sendInterims() {
	if len(w.interims) == 0 {
		return
	}
	header := w.ResponseWriter.Header()
	final := maps.Clone(header)
	for _, one := range w.interims {
		replace(header, one.header)
		w.ResponseWriter.WriteHeader(one.status)
	}
	replace(header, final)
}

// destination begins the response and returns where its body goes, or nil if it is dropped.
func (w *Writer) destination() io.Writer {
	switch decision := w.Begin(); {
	case decision == ended:
		return nil
	case w.Body != nil:
		return w.Body
	case decision == Pass:
		return w.ResponseWriter
	}
	return nil
}

// drop accepts a part of a body that is dropped.
func (w *Writer) drop(n int) (int, error) {
	switch w.Decision() {
	case ended:
		return 0, w.err
	case PassHead:
		return n, nil
	}
	if w.dropped.Add(int64(n)) > drainBytes {
		return 0, ErrDiscarded
	}
	return n, nil
}

// Write writes a part of the body.
func (w *Writer) Write(p []byte) (int, error) {
	if to := w.destination(); to != nil {
		return to.Write(p)
	}
	return w.drop(len(p))
}

// WriteString writes a part of the body.
func (w *Writer) WriteString(text string) (int, error) {
	if to := w.destination(); to != nil {
		return io.WriteString(to, text)
	}
	return w.drop(len(text))
}

// ReadFrom copies the source to the body, from socket to socket where the server can.
func (w *Writer) ReadFrom(source io.Reader) (int64, error) {
	if w.Begin() == Pass && w.Body == nil {
		return httpio.ReadFrom(w.ResponseWriter, source)
	}
	return io.Copy(httpio.OnlyWriter{Writer: w}, source)
}

// Splices reports whether ReadFrom buffers nothing that Flush would have to send.
func (w *Writer) Splices() bool {
	return w.Decision() == Pass && w.Body == nil && httpio.Splices(w.ResponseWriter)
}

// Discards reports whether the body is dropped, so that the rest of its source need not be read.
func (w *Writer) Discards() bool { return w.Decision() == PassHead || w.Decision() == Discard }

// Flush begins the response and sends what has been written, if it passes.
func (w *Writer) Flush() { _ = w.FlushError() }

// FlushError begins the response and sends what has been written, if it passes.
func (w *Writer) FlushError() error {
	switch w.Begin() {
	case Pass, PassHead:
		return http.NewResponseController(w.ResponseWriter).Flush()
	case ended:
		return w.err
	}
	return nil
}

// Hijack takes over the connection, unless the response is held or discarded. The Decider is not called: an undecided
// response passes.
func (w *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.Decision() >= Hold {
		return nil, nil, ErrDiscarded
	}
	conn, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.state.CompareAndSwap(int32(Undecided), int32(Pass)) // What has ended meanwhile stays so.
	}
	return conn, buffers, err
}

// Unwrap returns the writer below, for [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
