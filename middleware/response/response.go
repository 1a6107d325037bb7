// Package response has the writer for middlewares that change the head of a response. Bodies are not buffered:
// responses stream, flush, switch protocols and end with trailers.
package response

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// Editor changes the head of a response.
type Editor interface {
	// EditHead may change the headers of the final response, or of the switch to another protocol, right before they are
	// sent. It is called once, with status 0 if the handler hijacked the connection.
	EditHead(header http.Header, status int)
}

// Writer calls an editor when a response begins, and passes everything on. It is meant to be a field of the editor, so
// that both are one allocation.
type Writer struct {
	http.ResponseWriter
	Editor Editor
	// begun is atomic because a handler's goroutine may still write after the handler has returned; the server's writer
	// refuses such writes.
	begun atomic.Bool
}

// Begin calls the editor once. A handler that returns without a response answers 200, so Begin is also called after the
// handler.
func (w *Writer) Begin(status int) {
	if !w.begun.Load() && w.begun.CompareAndSwap(false, true) {
		w.Editor.EditHead(w.Header(), status)
	}
}

// BeginList reports whether the response has not begun yet, and begins it without a call of the editor. It is for an
// editor that gets the fields as a list, and edits them itself.
func (w *Writer) BeginList() bool { return w.begun.CompareAndSwap(false, true) }

// WriteHeader calls the editor unless the status is informational.
func (w *Writer) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.Begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *Writer) Write(body []byte) (int, error) {
	w.Begin(http.StatusOK)
	return w.ResponseWriter.Write(body)
}

// WriteString begins the response.
func (w *Writer) WriteString(body string) (int, error) {
	w.Begin(http.StatusOK)
	return io.WriteString(w.ResponseWriter, body)
}

// ReadFrom lets the server splice if it can.
func (w *Writer) ReadFrom(body io.Reader) (int64, error) {
	w.Begin(http.StatusOK)
	return io.Copy(w.ResponseWriter, body)
}

// Splices implements httpio.Splicer.
func (w *Writer) Splices() bool {
	return httpio.Splices(w.ResponseWriter)
}

// Flush begins the response and sends buffered data.
func (w *Writer) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *Writer) FlushError() error {
	w.Begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands over the connection. The new owner writes the response, if any, from Header.
func (w *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.Begin(0)
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap returns the server's writer, for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
