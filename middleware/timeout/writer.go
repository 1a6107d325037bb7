package timeout

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio"
)

// errOver is the end of a request whose time is over.
var errOver = context.DeadlineExceeded

// errCut is what a response says that is over before its end.
var errCut = fmt.Errorf("the time for the response is over: %w", errOver)

// writer passes a response on, and notes when it begins and moves.
type writer struct {
	http.ResponseWriter
	exchange *exchange
}

// open reports whether the response may be written.
func (w *writer) open() bool { return w.exchange.begin(http.StatusOK) && !w.exchange.cut.Load() }

// WriteHeader passes a status on; a final one begins the response.
func (w *writer) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		if !w.exchange.begin(status) {
			return
		}
	} else {
		w.exchange.touch()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *writer) Write(p []byte) (int, error) {
	if !w.open() {
		return 0, errCut
	}
	w.exchange.touch()
	n, err := w.ResponseWriter.Write(p)
	w.exchange.touch()
	return n, err
}

// WriteString sends a part of the body.
func (w *writer) WriteString(s string) (int, error) {
	if !w.open() {
		return 0, errCut
	}
	w.exchange.touch()
	n, err := io.WriteString(w.ResponseWriter, s)
	w.exchange.touch()
	return n, err
}

// ReadFrom lets the server splice, where it can. With idle the bytes come by here, as the system does not tell how far it has got: an endpoint
// that sends little at a time would count as silent.
func (w *writer) ReadFrom(source io.Reader) (int64, error) {
	if !w.open() {
		return 0, errCut
	}
	if w.exchange.timeout.idle == 0 {
		return io.Copy(w.ResponseWriter, source)
	}
	return io.Copy(httpio.OnlyWriter{Writer: w}, source)
}

// Splices says what the server's writer says: whether ReadFrom keeps nothing back. With idle it does.
func (w *writer) Splices() bool {
	return w.exchange.timeout.idle == 0 && httpio.Splices(w.ResponseWriter)
}

// Flush begins the response when nobody has, and sends what is buffered.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *writer) FlushError() error {
	if !w.open() {
		return errCut
	}
	return w.exchange.control.Flush()
}

// Hijack hands the connection over. From then on idle alone counts.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	x := w.exchange
	if !x.begin(http.StatusSwitchingProtocols) {
		return nil, nil, errCut
	}
	connection, buffers, err := x.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	return x.take(connection), buffers, nil
}

// Unwrap returns the server's writer, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
