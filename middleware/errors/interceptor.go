package errorpages

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// errReplaced is returned to the handler of a discarded response.
var errReplaced = errors.New("an error page takes the place of this answer")

// drainBytes is how much of a discarded response is accepted, so that its connection can be reused.
const drainBytes = 64 << 10

// decision is what happens to a response.
type decision int32

const (
	// undecided: its status is not known yet.
	undecided decision = iota
	// passes: the client gets it.
	passes
	// bodiless: the client gets its head, which allows no body.
	bodiless
	// discarded: the client gets nothing of it.
	discarded
)

// matcher decides on a response by its status. It may change the header that is about to be sent.
type matcher interface {
	match(status int) (send int, what decision)
}

// interceptor is a response writer that passes a response on or discards it, as its matcher decides when the
// response begins. The matcher is called once.
type interceptor struct {
	writer  http.ResponseWriter
	matcher matcher
	// state is a decision. It is atomic because a goroutine of the handler may still write after the handler's
	// return.
	state   atomic.Int32
	drained atomic.Int64
	// scratch is the header of a discarded response.
	scratch http.Header
}

func (i *interceptor) decision() decision { return decision(i.state.Load()) }

// serve runs a handler with w, a writer on top of the interceptor. A discarded response may break off.
func (i *interceptor) serve(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if i.decision() != discarded {
			return
		}
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value of a panic the same way.
			panic(cause)
		}
	}()
	handler.ServeHTTP(w, r)
}

// Header returns the header of the response.
func (i *interceptor) Header() http.Header {
	if i.decision() == discarded {
		return i.scratch
	}
	return i.writer.Header()
}

// WriteHeader calls the matcher with the first final status. Informational responses before it pass at once.
func (i *interceptor) WriteHeader(status int) {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		if i.decision() == undecided {
			i.writer.WriteHeader(status)
		}
		return
	}
	if i.decision() != undecided {
		return
	}
	send, what := i.matcher.match(status)
	if what == discarded {
		i.scratch = http.Header{}
	}
	i.state.Store(int32(what))
	if what != discarded {
		i.writer.WriteHeader(send)
	}
}

// begin decides on a response whose header is not written before its body, and returns the decision.
func (i *interceptor) begin() decision {
	if i.decision() == undecided {
		i.WriteHeader(http.StatusOK)
	}
	return i.decision()
}

// drop accepts a part of a discarded body, up to drainBytes. A body behind a bodiless head is dropped without a
// limit.
func (i *interceptor) drop(n int) (int, error) {
	if i.drained.Add(int64(n)) > drainBytes && i.decision() == discarded {
		return 0, errReplaced
	}
	return n, nil
}

// Write writes a part of the body.
func (i *interceptor) Write(p []byte) (int, error) {
	if i.begin() != passes {
		return i.drop(len(p))
	}
	return i.writer.Write(p)
}

// WriteString writes a part of the body.
func (i *interceptor) WriteString(text string) (int, error) {
	if i.begin() != passes {
		return i.drop(len(text))
	}
	return io.WriteString(i.writer, text)
}

// ReadFrom copies the source to the body, from socket to socket where the server can.
func (i *interceptor) ReadFrom(source io.Reader) (int64, error) {
	if i.begin() != passes {
		return io.Copy(httpio.OnlyWriter{Writer: i}, source)
	}
	return httpio.ReadFrom(i.writer, source)
}

// Splices reports whether ReadFrom buffers nothing that Flush would have to send.
func (i *interceptor) Splices() bool {
	return i.decision() == passes && httpio.Splices(i.writer)
}

// Discards reports whether the response's body is dropped, so that the rest need not be read.
func (i *interceptor) Discards() bool { return i.decision() > passes }

// Flush sends what has been written so far.
func (i *interceptor) Flush() { _ = i.FlushError() }

// FlushError sends what has been written so far.
func (i *interceptor) FlushError() error {
	if i.begin() == discarded {
		return nil
	}
	return http.NewResponseController(i.writer).Flush()
}

// Hijack takes over the connection, unless the response is discarded.
func (i *interceptor) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if i.decision() == discarded {
		return nil, nil, errReplaced
	}
	connection, buffers, err := http.NewResponseController(i.writer).Hijack()
	if err == nil {
		i.state.CompareAndSwap(int32(undecided), int32(passes))
	}
	return connection, buffers, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (i *interceptor) Unwrap() http.ResponseWriter { return i.writer }
