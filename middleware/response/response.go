// Package response is the writer of middlewares that change the head of a response.
//
// What flows in: a response, as the handlers behind a middleware write it. What flows out: the same response, whose
// head somebody else was shown before it was sent. It never keeps a body back: responses stream, flush, switch
// protocols and end with trailers as without it.
package response

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// Editor is who is shown the head of a response.
type Editor interface {
	// EditHead may change the headers of the final response, or of the switch to another protocol, right before they are
	// sent. It is called once, and with a status of 0 when the handler took the connection over and writes the response
	// itself.
	EditHead(header http.Header, status int)
}

// Writer shows the head of a response to an editor when it begins, and passes everything on. It is meant to be a field
// of the editor, so that both are one allocation.
type Writer struct {
	http.ResponseWriter
	// Editor is shown the head.
	Editor Editor
	// begun is atomic because a handler's goroutine may still write when the handler has returned; the server's writer
	// refuses it then.
	begun atomic.Bool
}

// Begin shows the head to the editor, unless that has happened. A handler that has returned without an answer answers
// 200, so whoever called it calls Begin after it.
func (w *Writer) Begin(status int) {
	if !w.begun.Load() && w.begun.CompareAndSwap(false, true) {
		w.Editor.EditHead(w.Header(), status)
	}
}

// WriteHeader shows the head unless the response is informational and not the last one.
func (w *Writer) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.Begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the response when nobody has.
func (w *Writer) Write(body []byte) (int, error) {
	w.Begin(http.StatusOK)
	return w.ResponseWriter.Write(body)
}

// WriteString begins the response when nobody has.
func (w *Writer) WriteString(body string) (int, error) {
	w.Begin(http.StatusOK)
	return io.WriteString(w.ResponseWriter, body)
}

// ReadFrom lets the server splice, where it can.
func (w *Writer) ReadFrom(body io.Reader) (int64, error) {
	w.Begin(http.StatusOK)
	return io.Copy(w.ResponseWriter, body)
}

// Splices says what the server's writer says: whether ReadFrom keeps nothing back.
func (w *Writer) Splices() bool {
	return httpio.Splices(w.ResponseWriter)
}

// Flush begins the response when nobody has, and sends what is buffered.
func (w *Writer) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *Writer) FlushError() error {
	w.Begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands the connection over. Who does so writes the response, if any, from Header.
func (w *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.Begin(0)
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap returns the server's writer, for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
