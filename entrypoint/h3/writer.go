package h3

import (
	"errors"
	"net/http"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio/websocket"
)

// writer is the writer of a response. It adds what the server of quic-go leaves to handlers: fields that concern one
// connection have no place in HTTP/3 (RFC 9114, section 4.2), and Connection: close becomes GOAWAY, as with HTTP/2.
type writer struct {
	inner http.ResponseWriter
	conn  *Conn
	// begun says that the header of the response is set.
	begun bool
	// cut says that a part of the response could not be sent.
	cut bool
	// tunnel is the stream of an extended CONNECT, or nil.
	tunnel *tunnel
}

// Header returns the header of the response.
func (w *writer) Header() http.Header { return w.inner.Header() }

// Unwrap returns the writer of quic-go, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.inner }

// WriteHeader sends the header.
func (w *writer) WriteHeader(status int) {
	if t := w.tunnel; t != nil && !t.taken.Load() {
		status = websocket.Unopened(status)
	}
	w.clean()
	w.begun = w.begun || status >= http.StatusOK
	w.inner.WriteHeader(status)
}

// Write sends a part of the body.
func (w *writer) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.inner.Write(p)
	return n, w.note(err)
}

// note keeps that a part of the response was not sent, unless it may not be sent.
func (w *writer) note(err error) error {
	if err != nil && !errors.Is(err, http.ErrContentLength) && !errors.Is(err, http.ErrBodyNotAllowed) {
		w.cut = true
	}
	return err
}

// FlushError sends what has been written so far.
func (w *writer) FlushError() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.note(http.NewResponseController(w.inner).Flush())
}

// clean removes the fields that have no place in HTTP/3, and a length that is none, which the server would log.
func (w *writer) clean() {
	header := w.inner.Header()
	if values := header["Connection"]; len(values) > 0 && httpguts.HeaderValuesContainsToken(values, "close") {
		w.conn.retire()
	}
	for _, name := range [...]string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
		delete(header, name)
	}
	if length := header["Content-Length"]; len(length) > 0 {
		if _, ok := wire.ParseLength(length[0]); !ok || len(length) > 1 {
			delete(header, "Content-Length")
		}
	}
}
