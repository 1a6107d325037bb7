package http1

import (
	"context"
	"io"
	"net"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

// spliceBytes is how much of a body must be left for the kernel to move it: less is cheaper to copy.
const spliceBytes = 128 << 10

// WriteTo writes the rest of the body to w, from where it was read into. A large rest that is delimited by
// Content-Length and comes over plain TCP is handed to w's ReadFrom as an *io.LimitedReader of a *net.TCPConn, which
// *net.TCPConn moves within the kernel. Errors of w are a *DestinationError. An [httpio.WaitNotifier] is called before
// the body waits for the endpoint.
func (b *responseBody) WriteTo(w io.Writer) (int64, error) {
	c := (*RoundTrip)(b)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	l := c.cc
	if told, ok := w.(httpio.WaitNotifier); ok && !c.ended {
		l.waiting = told.Waiting
	}
	var written int64
	for !c.ended {
		n, err := c.move(w)
		written += n
		if err != nil {
			return written, err
		}
	}
	if c.fault == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		return written, nil
	}
	return written, c.fault
}

// move writes the next piece of the body to w, and ends the exchange at the body's end. Its error is that of w.
func (c *RoundTrip) move(w io.Writer) (int64, error) {
	l := c.cc
	if l.from == l.to {
		want := int64(copyBytes)
		if c.body == wire.FixedLength {
			if direct, ok := w.(io.ReaderFrom); ok && l.tcp != nil && c.left >= spliceBytes {
				return c.splice(direct)
			}
			want = c.left
		}
		l.widen(want)
		if err := l.fill(); err != nil {
			return 0, c.broke(err)
		}
	}
	switch c.body {
	case wire.FixedLength:
		ahead := l.unread()
		return c.moveAhead(w, ahead[:min(int64(len(ahead)), c.left)])
	case wire.ChunkedBody:
		return c.moveChunks(w, l.unread())
	}
	n, err := c.write(w, l.unread())
	if err == nil {
		l.skip(int(n))
	}
	return n, err
}

// broke ends the exchange because reading has failed, or because the endpoint has closed the connection.
func (c *RoundTrip) broke(err error) error {
	if err == io.EOF && c.body == wire.UntilClose { //nolint:errorlint // io.EOF is never wrapped
		c.fault = io.EOF
		c.end()
		return nil
	}
	c.fail(truncated(err))
	return nil
}

// moveChunks decodes what is there in its place, and writes it.
func (c *RoundTrip) moveChunks(w io.Writer, ahead []byte) (int64, error) {
	put, took, err := c.chunked.Decode(ahead, ahead)
	done := err == nil && c.chunked.Done()
	n, refused := c.write(w, ahead[:put])
	if refused != nil {
		return n, refused
	}
	c.cc.skip(took)
	switch {
	case err != nil:
		c.fail(malformed(err))
	case done:
		c.takeTrailer()
		c.fault = io.EOF
		c.end()
	}
	return n, nil
}

func (c *RoundTrip) write(w io.Writer, p []byte) (int64, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return int64(n), c.refused(err)
	}
	return int64(n), nil
}

// moveAhead writes bytes of the connection's buffer.
func (c *RoundTrip) moveAhead(w io.Writer, ahead []byte) (int64, error) {
	n, err := c.write(w, ahead)
	if err != nil {
		return n, err
	}
	c.cc.skip(len(ahead))
	if c.left -= int64(len(ahead)); c.left == 0 {
		c.fault = io.EOF
		c.end()
	}
	return n, nil
}

// refused ends the exchange because the destination takes no more of the response.
func (c *RoundTrip) refused(err error) error {
	failure := &DestinationError{Err: err}
	c.reusable = false
	if !c.ended {
		c.fault = failure
		c.end()
	}
	c.fault = failure
	return failure
}

// splice lets w take the rest from the connection.
func (c *RoundTrip) splice(w io.ReaderFrom) (int64, error) {
	l := c.cc
	source := io.LimitedReader{R: l.tcp, N: c.left}
	n, err := w.ReadFrom(&source)
	c.left -= n
	switch {
	case err != nil && c.request.Context().Err() != nil:
		c.fail(context.Cause(c.request.Context()))
	case err != nil && l.alive():
		return n, c.refused(err)
	case err != nil:
		c.fail(err)
	case c.left > 0:
		c.fail(io.ErrUnexpectedEOF)
	default:
		c.fault = io.EOF
		c.end()
	}
	return n, nil
}

// alive reports whether a connection in use can still be read: it is to be told whose fault a failure was.
func (l *clientConn) alive() bool {
	if l.probe == nil {
		return true
	}
	var one [1]byte
	l.probe.only = true
	n, err := l.probe.Read(one[:])
	l.probe.only = false
	return n > 0 || err == errNothingYet //nolint:errorlint // as Read returns it
}

// The kernel's copy needs these two to fit together.
var _ io.ReaderFrom = (*net.TCPConn)(nil)
