package headers

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// fewEdits is how many edits of a message need no memory beyond that of the writer.
const fewEdits = 4

// response edits the headers when the response begins, and passes everything on.
type response struct {
	http.ResponseWriter
	edits []edit
	// values has room for the values of a few edits: first those of the request, then those of the response.
	values [2 * fewEdits]string
	// begun is atomic because a handler's goroutine may still write when the handler has returned; the server's writer refuses it then.
	begun atomic.Bool
}

// begin edits the headers, once.
func (w *response) begin() {
	if !w.begun.Load() && w.begun.CompareAndSwap(false, true) {
		apply(w.Header(), w.edits, w.values[fewEdits:fewEdits])
	}
}

// WriteHeader edits the headers unless the response is informational and not the last one.
func (w *response) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.begin()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the response when nobody has.
func (w *response) Write(body []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(body)
}

// WriteString begins the response when nobody has.
func (w *response) WriteString(body string) (int, error) {
	w.begin()
	return io.WriteString(w.ResponseWriter, body)
}

// ReadFrom lets the server splice, where it can.
func (w *response) ReadFrom(body io.Reader) (int64, error) {
	w.begin()
	return io.Copy(w.ResponseWriter, body)
}

// Splices says what the server's writer says: whether ReadFrom keeps nothing back.
func (w *response) Splices() bool {
	splicer, ok := w.ResponseWriter.(interface{ Splices() bool })
	return ok && splicer.Splices()
}

// Flush begins the response when nobody has, and sends what is buffered.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *response) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands the connection over. Who does so writes the response, if any, from Header.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap returns the server's writer, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
