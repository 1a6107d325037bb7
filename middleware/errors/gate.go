package errorpages

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// errReplaced ends an answer that nobody gets.
var errReplaced = errors.New("an error page takes the place of this answer")

// drainBytes is how much of an answer is taken that nobody gets, so that its connection can be used again.
const drainBytes = 64 << 10

// verdict is what becomes of an answer.
type verdict int32

const (
	// undecided: its status is not known yet.
	undecided verdict = iota
	// passes: the client gets it.
	passes
	// bodiless: the client gets its head, which allows no body.
	bodiless
	// discarded: nobody gets it.
	discarded
)

// judge decides what becomes of an answer. It may change the header that is about to be sent.
type judge interface {
	judge(status int) (send int, what verdict)
}

// gate is a writer whose judge is asked when the answer begins. From then on the answer is passed on as it comes, or thrown away. The
// judge is asked once.
type gate struct {
	writer http.ResponseWriter
	judge  judge
	// state is a verdict. It is atomic because a handler's goroutine may still write when the handler has returned.
	state   atomic.Int32
	drained atomic.Int64
	// scratch is the header of an answer that is thrown away.
	scratch http.Header
}

func (g *gate) verdict() verdict { return verdict(g.state.Load()) }

// serve lets a handler answer to w, which is a writer on the gate. An answer that nobody gets may break off.
func (g *gate) serve(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if g.verdict() != discarded {
			return
		}
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value of a panic the same way.
			panic(cause)
		}
	}()
	handler.ServeHTTP(w, r)
}

// Header returns the header of the answer.
func (g *gate) Header() http.Header {
	if g.verdict() == discarded {
		return g.scratch
	}
	return g.writer.Header()
}

// WriteHeader asks the judge about the first final status. Informational responses before it pass at once: they are worth nothing later.
func (g *gate) WriteHeader(status int) {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		if g.verdict() == undecided {
			g.writer.WriteHeader(status)
		}
		return
	}
	if g.verdict() != undecided {
		return
	}
	send, what := g.judge.judge(status)
	if what == discarded {
		g.scratch = http.Header{}
	}
	g.state.Store(int32(what))
	if what != discarded {
		g.writer.WriteHeader(send)
	}
}

// begin has the judge asked about an answer whose head is not written before its body, and returns the verdict.
func (g *gate) begin() verdict {
	if g.verdict() == undecided {
		g.WriteHeader(http.StatusOK)
	}
	return g.verdict()
}

// drop takes what nobody gets, until it is too much. What follows a head that allows no body has no end that would matter.
func (g *gate) drop(n int) (int, error) {
	if g.drained.Add(int64(n)) > drainBytes && g.verdict() == discarded {
		return 0, errReplaced
	}
	return n, nil
}

// Write writes a part of the body.
func (g *gate) Write(p []byte) (int, error) {
	if g.begin() != passes {
		return g.drop(len(p))
	}
	return g.writer.Write(p)
}

// WriteString writes a part of the body.
func (g *gate) WriteString(text string) (int, error) {
	if g.begin() != passes {
		return g.drop(len(text))
	}
	return io.WriteString(g.writer, text)
}

// ReadFrom writes what source has to say, from socket to socket where the server can.
func (g *gate) ReadFrom(source io.Reader) (int64, error) {
	if g.begin() != passes {
		return io.Copy(struct{ io.Writer }{g}, source)
	}
	if direct, ok := g.writer.(io.ReaderFrom); ok {
		return direct.ReadFrom(source)
	}
	return io.Copy(struct{ io.Writer }{g.writer}, source)
}

// Splices reports whether ReadFrom keeps nothing back that Flush would have to send.
func (g *gate) Splices() bool {
	splicer, ok := g.writer.(interface{ Splices() bool })
	return ok && g.verdict() == passes && splicer.Splices()
}

// Discards reports whether the answer has begun and nobody gets its body, so that the rest need not be waited for.
func (g *gate) Discards() bool { return g.verdict() > passes }

// Flush sends what has been written so far.
func (g *gate) Flush() { _ = g.FlushError() }

// FlushError sends what has been written so far.
func (g *gate) FlushError() error {
	if g.begin() == discarded {
		return nil
	}
	return http.NewResponseController(g.writer).Flush()
}

// Hijack takes the connection over, unless an answer has begun that nobody gets.
func (g *gate) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if g.verdict() == discarded {
		return nil, nil, errReplaced
	}
	connection, buffers, err := http.NewResponseController(g.writer).Hijack()
	if err == nil {
		g.state.CompareAndSwap(int32(undecided), int32(passes))
	}
	return connection, buffers, err
}

// Unwrap returns the writer behind, for http.ResponseController.
func (g *gate) Unwrap() http.ResponseWriter { return g.writer }
