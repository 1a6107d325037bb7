package buffering

import (
	"bufio"
	"errors"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// phase is what becomes of the response of a try.
type phase uint8

const (
	// waiting is the time before the final status.
	waiting phase = iota
	// keeping collects the body.
	keeping
	// passing sends it at once.
	passing
	// forgetting drops it, because there is another try.
	forgetting
	// refused says that the client gets another answer instead.
	refused
	// cut says that the client must see that what it got is not all.
	cut
	// taken says that the connection speaks another protocol.
	taken
)

// forgottenBytes is how much of a forgotten response is read, so that its connection can serve others. What is longer is broken off.
const forgottenBytes = 64 << 10

var (
	errForgotten = errors.New("the response gave way to another try")
	errEnded     = errors.New("the handler has returned")
	errBegun     = errors.New("the response has begun")
)

// writer is the response of one try.
type writer struct {
	exchange *exchange
	number   int
	// through says that the response is sent as it comes, whatever it is. Its header is the client's.
	through bool
	header  http.Header
	// head is the header as it was with the final status.
	head   http.Header
	status int
	phase  phase
	body   spool
	// passed counts what was sent, or dropped, at once.
	passed  int64
	failure error
	ended   atomic.Bool
}

// Header returns the header of this try.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader decides on the response with the first final status. Others before it are informational (RFC 9110 section 15.2) and sent at
// once; the client has seen something then, so that there is no other try.
func (w *writer) WriteHeader(status int) {
	switch {
	case w.phase != waiting || status < 100 || status > 999 || w.ended.Load():
	case status >= http.StatusOK || status == http.StatusSwitchingProtocols:
		w.begin(status)
	case status != http.StatusContinue:
		w.inform(status)
	}
}

// inform sends an informational response with the header as it is.
func (w *writer) inform(status int) {
	x := w.exchange
	x.hinted = true
	if w.through {
		x.writer.WriteHeader(status)
		return
	}
	own := x.writer.Header()
	waits := maps.Clone(own)
	replace(own, w.header)
	x.writer.WriteHeader(status)
	replace(own, waits)
}

// begin decides what becomes of the response.
func (w *writer) begin(status int) {
	x := w.exchange
	w.status = status
	switch {
	case w.through:
		w.phase = passing
		x.writer.WriteHeader(status)
	case x.repeats(w.number, status):
		w.phase = forgetting
	case status == http.StatusSwitchingProtocols || isEvents(w.header) || isGRPC(w.header):
		w.phase = passing
		replace(x.writer.Header(), w.header)
		x.writer.WriteHeader(status)
	case w.announcesTooMuch():
		w.refuse(errTooLarge)
	default:
		w.phase = keeping
		w.head = maps.Clone(w.header)
	}
}

// announcesTooMuch reports whether the response says by its length that it is larger than may be.
func (w *writer) announcesTooMuch() bool {
	limit := w.exchange.buffering.maxResponse
	if limit == 0 || w.exchange.request.Method == http.MethodHead || bodiless(w.status) {
		return false
	}
	length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64)
	return err == nil && length > limit
}

// bodiless reports whether responses with a status have no body (RFC 9110 section 6.4.1).
func bodiless(status int) bool {
	return status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified
}

func (w *writer) refuse(err error) {
	w.phase, w.failure = refused, err
	w.body.release()
}

// Write takes a part of the body.
func (w *writer) Write(p []byte) (int, error) {
	if w.ended.Load() {
		return 0, errEnded
	}
	if w.phase == waiting {
		w.WriteHeader(http.StatusOK)
	}
	switch w.phase {
	case keeping:
		return w.keep(p)
	case passing:
		return w.pass(p)
	case forgetting:
		if w.passed += int64(len(p)); w.passed > forgottenBytes {
			return 0, errForgotten
		}
		return len(p), nil
	case taken:
		return 0, http.ErrHijacked
	default:
		return 0, w.failure
	}
}

// keep collects a part of the body.
func (w *writer) keep(p []byte) (int, error) {
	if bodiless(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	n, err := w.body.Write(p)
	if err != nil {
		w.refuse(err)
	}
	return n, err
}

// pass sends a part of the body at once, within the limit.
func (w *writer) pass(p []byte) (int, error) {
	limit := w.exchange.buffering.maxResponse
	if w.passed += int64(len(p)); limit > 0 && w.passed > limit {
		w.phase, w.failure = cut, errTooLarge
		return 0, errTooLarge
	}
	return w.exchange.writer.Write(p)
}

// WriteString takes a part of the body.
func (w *writer) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Flush sends what there is of a response that passes.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController. What is kept stays until it is whole.
func (w *writer) FlushError() error {
	if w.ended.Load() {
		return errEnded
	}
	if w.phase == waiting {
		w.WriteHeader(http.StatusOK)
	}
	if w.phase == passing {
		return http.NewResponseController(w.exchange.writer).Flush()
	}
	return w.failure
}

// Discards reports whether nobody gets what is about to be written, so that the rest need not be waited for.
func (w *writer) Discards() bool { return w.phase == forgetting || w.phase == refused }

// Hijack hands the connection over. Who does so writes the response from Header.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.ended.Load() {
		return nil, nil, errEnded
	}
	if w.phase != waiting {
		return nil, nil, errBegun
	}
	connection, buffers, err := http.NewResponseController(w.exchange.writer).Hijack()
	if err == nil {
		w.phase = taken
	}
	return connection, buffers, err
}

// Unwrap returns the writer that the response goes to, for the deadlines of http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.exchange.writer }

// release ends the try for whoever is late.
func (w *writer) release() {
	w.ended.Store(true)
	w.body.release()
}

// copyTrailers hands on what follows a body: what the head has announced, and what came under http.TrailerPrefix.
func (w *writer) copyTrailers() {
	own := w.exchange.writer.Header()
	for _, name := range announced(own) {
		if values, ok := w.header[name]; ok {
			own[name] = values
		}
	}
	for name, values := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			own[name] = values
		}
	}
}
