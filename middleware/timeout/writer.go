package timeout

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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

// pieceBytes is how much of a body the system moves until that is noticed.
const pieceBytes = 64 << 10

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

// ReadFrom lets the server splice, where it can. With idle it does so in pieces, so that each is noticed.
func (w *writer) ReadFrom(source io.Reader) (int64, error) {
	if !w.open() {
		return 0, errCut
	}
	if w.exchange.timeout.idle == 0 {
		return io.Copy(w.ResponseWriter, source)
	}
	whole, limited := source.(*io.LimitedReader)
	if !limited {
		whole = &io.LimitedReader{R: source, N: 1<<63 - 1}
	}
	total := int64(0)
	for whole.N > 0 && w.open() {
		piece := io.LimitedReader{R: whole.R, N: min(whole.N, pieceBytes)}
		asked := piece.N
		n, err := io.Copy(w.ResponseWriter, &piece)
		w.exchange.touch()
		whole.N -= n
		total += n
		if err != nil || n < asked {
			return total, err
		}
	}
	if w.exchange.cut.Load() {
		return total, errCut
	}
	return total, nil
}

// Splices says what the server's writer says: whether ReadFrom keeps nothing back.
func (w *writer) Splices() bool {
	splicer, ok := w.ResponseWriter.(interface{ Splices() bool })
	return ok && splicer.Splices()
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
