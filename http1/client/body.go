package client

import (
	"context"
	"io"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

// responseBody is the body of a RoundTrip's response. One goroutine reads it; any other may close it meanwhile.
type responseBody RoundTrip

// Read reads the next piece. The error at the end is io.EOF, together with the last bytes.
func (b *responseBody) Read(p []byte) (int, error) {
	rt := (*RoundTrip)(b)
	rt.mutex.Lock()
	defer rt.mutex.Unlock()
	if rt.ended {
		return 0, rt.fault
	}
	if len(p) == 0 {
		return 0, nil
	}
	return rt.read(p)
}

// Ready reports whether all that is left of the body has been read ahead already.
func (b *responseBody) Ready() bool {
	rt := (*RoundTrip)(b)
	rt.mutex.Lock()
	defer rt.mutex.Unlock()
	return !rt.ended && rt.body == wire.FixedLength && int64(len(rt.cc.unread())) >= rt.left
}

// Close ends the exchange. A connection whose response has not been read to its end is closed, unless the rest is there
// already.
func (b *responseBody) Close() error {
	rt := (*RoundTrip)(b)
	if !rt.mutex.TryLock() {
		// A Read is waiting.
		rt.closing.Store(true)
		rt.hold.Lock()
		if rt.cc != nil {
			rt.cc.abort()
		}
		rt.hold.Unlock()
		rt.mutex.Lock()
	}
	defer rt.mutex.Unlock()
	if !rt.ended {
		rt.abandon()
	}
	if rt.fault == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		rt.fault = http.ErrBodyReadAfterClose
	}
	return nil
}

// abandon ends the exchange before the end of the body.
func (rt *RoundTrip) abandon() {
	cc := rt.cc
	if rt.body == wire.FixedLength && int64(len(cc.unread())) >= rt.left {
		cc.skip(int(rt.left))
	} else {
		rt.reusable = false
	}
	rt.fault = http.ErrBodyReadAfterClose
	rt.end()
}

// read reads a piece of the body into p, which is not empty. It ends the exchange at the body's end.
func (rt *RoundTrip) read(p []byte) (n int, err error) {
	switch rt.body {
	case wire.FixedLength:
		n, err = rt.readFixed(p)
	case wire.ChunkedBody:
		n, err = rt.readChunked(p)
	default:
		n, err = rt.cc.read(p)
	}
	switch {
	case err == io.EOF: //nolint:errorlint // io.EOF is never wrapped
		rt.fault = io.EOF
		rt.end()
	case err != nil:
		rt.fail(err)
		err = rt.fault
	}
	return n, err
}

func (rt *RoundTrip) readFixed(p []byte) (int, error) {
	n, err := rt.cc.read(p[:min(int64(len(p)), rt.left)])
	if rt.left -= int64(n); rt.left == 0 {
		return n, io.EOF
	}
	return n, truncated(err)
}

func (rt *RoundTrip) readChunked(p []byte) (int, error) {
	cc := rt.cc
	for {
		put, took, err := rt.chunked.Decode(p, cc.unread())
		cc.skip(took)
		if err == nil && put == len(p) {
			// What ends the body may be there, behind the last data.
			_, took, err = rt.chunked.Decode(nil, cc.unread())
			cc.skip(took)
		}
		switch {
		case err != nil:
			return put, malformed(err)
		case rt.chunked.Done():
			rt.takeTrailer()
			return put, io.EOF
		case put > 0:
			return put, nil
		}
		if pending := rt.chunked.Pending(); pending > 0 && len(p) >= clientBytes {
			n, err := cc.conn.Read(p[:min(int64(len(p)), pending)])
			rt.chunked.Took(n)
			return n, truncated(err)
		}
		if err := cc.fill(); err != nil {
			return 0, truncated(err)
		}
	}
}

func (rt *RoundTrip) takeTrailer() {
	if rt.response.Trailer == nil {
		rt.response.Trailer = rt.chunked.Trailer
		return
	}
	for name, values := range rt.chunked.Trailer {
		rt.response.Trailer[name] = values
	}
}

// spliceBytes is how much of a body must be left for the kernel to move it: less is cheaper to copy.
const spliceBytes = 128 << 10

// WriteTo writes the rest of the body to w, from where it was read into. A large rest that is delimited by
// Content-Length and comes over plain TCP is handed to w's ReadFrom as an *io.LimitedReader of a *net.TCPConn, which
// *net.TCPConn moves within the kernel. Errors of w are a *DestinationError. An [httpio.WaitNotifier] is called before
// the body waits for the endpoint.
func (b *responseBody) WriteTo(w io.Writer) (int64, error) {
	rt := (*RoundTrip)(b)
	rt.mutex.Lock()
	defer rt.mutex.Unlock()
	cc := rt.cc
	if notifier, ok := w.(httpio.WaitNotifier); ok && !rt.ended {
		cc.waiting = notifier.Waiting
	}
	var written int64
	for !rt.ended {
		n, err := rt.move(w)
		written += n
		if err != nil {
			return written, err
		}
	}
	if rt.fault == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		return written, nil
	}
	return written, rt.fault
}

// move writes the next piece of the body to w, and ends the exchange at the body's end. Its error is that of w.
func (rt *RoundTrip) move(w io.Writer) (int64, error) {
	cc := rt.cc
	if cc.from == cc.to {
		want := int64(copyBytes)
		if rt.body == wire.FixedLength {
			if direct, ok := w.(io.ReaderFrom); ok && cc.tcp != nil && rt.left >= spliceBytes {
				return rt.splice(direct)
			}
			want = rt.left
		}
		cc.widen(want)
		if err := cc.fill(); err != nil {
			return 0, rt.broke(err)
		}
	}
	ahead := cc.unread()
	switch rt.body {
	case wire.FixedLength:
		ahead = ahead[:min(int64(len(ahead)), rt.left)]
	case wire.ChunkedBody:
		return rt.moveChunks(w, ahead)
	}
	n, err := rt.write(w, ahead)
	if err != nil {
		return n, err
	}
	cc.skip(len(ahead))
	if rt.left -= n; rt.left == 0 && rt.body == wire.FixedLength {
		rt.fault = io.EOF
		rt.end()
	}
	return n, nil
}

// broke ends the exchange because reading has failed, or because the endpoint has closed the connection.
func (rt *RoundTrip) broke(err error) error {
	if err == io.EOF && rt.body == wire.UntilClose { //nolint:errorlint // io.EOF is never wrapped
		rt.fault = io.EOF
		rt.end()
		return nil
	}
	rt.fail(truncated(err))
	return nil
}

// moveChunks decodes what is there in its place, and writes it.
func (rt *RoundTrip) moveChunks(w io.Writer, ahead []byte) (int64, error) {
	put, took, err := rt.chunked.Decode(ahead, ahead)
	done := err == nil && rt.chunked.Done()
	n, refused := rt.write(w, ahead[:put])
	if refused != nil {
		return n, refused
	}
	rt.cc.skip(took)
	switch {
	case err != nil:
		rt.fail(malformed(err))
	case done:
		rt.takeTrailer()
		rt.fault = io.EOF
		rt.end()
	}
	return n, nil
}

func (rt *RoundTrip) write(w io.Writer, p []byte) (int64, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return int64(n), rt.refused(err)
	}
	return int64(n), nil
}

// refused ends the exchange because the destination takes no more of the response.
func (rt *RoundTrip) refused(err error) error {
	failure := &DestinationError{Err: err}
	rt.reusable = false
	if !rt.ended {
		rt.fault = failure
		rt.end()
	}
	rt.fault = failure
	return failure
}

// splice lets w take the rest from the connection.
func (rt *RoundTrip) splice(w io.ReaderFrom) (int64, error) {
	cc := rt.cc
	source := io.LimitedReader{R: cc.tcp, N: rt.left}
	n, err := w.ReadFrom(&source)
	rt.left -= n
	switch {
	case err != nil && rt.request.Context().Err() != nil:
		rt.fail(context.Cause(rt.request.Context()))
	case err != nil && cc.alive():
		return n, rt.refused(err)
	case err != nil:
		rt.fail(err)
	case rt.left > 0:
		rt.fail(io.ErrUnexpectedEOF)
	default:
		rt.fault = io.EOF
		rt.end()
	}
	return n, nil
}

// alive reports whether a connection in use can still be read, which decides whose fault a failure was.
func (cc *clientConn) alive() bool {
	if cc.probe == nil {
		return true
	}
	var one [1]byte
	cc.probe.only = true
	n, err := cc.probe.Read(one[:])
	cc.probe.only = false
	return n > 0 || err == errNothingYet //nolint:errorlint // as Read returns it
}

// The kernel's copy needs these two to fit together.
var _ io.ReaderFrom = (*net.TCPConn)(nil)
