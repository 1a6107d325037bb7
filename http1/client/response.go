package client

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// maxResponseFields bounds the fields of a response's head, whose cost in memory is a multiple of their bytes.
	maxResponseFields = 1000
	// maxInterims bounds the informational responses before the final one.
	maxInterims = 64
)

// receive reads the head of the final response, and answers to the informational ones before it.
func (rt *RoundTrip) receive(head *wire.Response) error {
	cc := rt.cc
	limits := wire.Limits{HeadBytes: rt.upstream.config.MaxHeaderBytes, Fields: maxResponseFields}
	var scan wire.Scanner
	for {
		n, err := scan.Scan(cc.unread(), limits)
		switch {
		case err != nil:
			return malformed(err)
		case n == 0:
			if !cc.grow(limits.HeadBytes) {
				return malformed(wire.ErrHeadTooLarge)
			}
			if err = rt.await(); err != nil {
				return err
			}
			continue
		}
		if !interimStatus(cc.unread()) {
			head.Header, head.Values, head.List = rt.Header, rt.Values[:0], rt.List
		}
		if err = head.Parse(cc.unread()[:n]); err != nil {
			return malformed(err)
		}
		cc.skip(n)
		if head.Status >= http.StatusOK || head.Status == http.StatusSwitchingProtocols {
			return nil
		}
		if err = rt.interim(head); err != nil {
			return err
		}
		scan.Reset()
		*head = wire.Response{}
	}
}

// interimStatus reports whether the head that b begins with is that of an informational response. The status line is
// not checked yet.
func interimStatus(b []byte) bool { return len(b) > len("HTTP/1.1 ") && b[len("HTTP/1.1 ")] == '1' }

func malformed(err error) error { return fmt.Errorf("malformed response: %w", err) }

// await reads more of the response. When it is the answer to Expect that does not come, the body follows.
func (rt *RoundTrip) await() error {
	for {
		err := rt.cc.fill()
		if err == nil {
			if !rt.received {
				rt.received = true
				rt.gotFirstByte()
			}
			return nil
		}
		switch {
		case rt.framing.expects && isTimeout(err):
			rt.proceed()
		case isTimeout(err):
			return errHeadTimeout
		case err == io.EOF && !rt.received: //nolint:errorlint // io.EOF is never wrapped
			return errServerClosed
		default:
			return fmt.Errorf("reading the response: %w", truncated(err))
		}
	}
}

// proceed sends the body that waited for leave.
func (rt *RoundTrip) proceed() {
	rt.framing.expects = false
	rt.unlimit(false)
	rt.startUpload(nil)
}

// interim handles an informational response.
func (rt *RoundTrip) interim(head *wire.Response) error {
	if rt.interims++; rt.interims > maxInterims {
		return errInterim
	}
	if head.Status == http.StatusContinue {
		rt.got100()
		if rt.framing.expects {
			rt.proceed()
		}
	}
	if rt.Informational == nil {
		return nil
	}
	return rt.Informational(head.Status, head.Header)
}

// accept makes the response of its head.
func (rt *RoundTrip) accept(head *wire.Response) error {
	rt.unlimit(true)
	if rt.upload == nil {
		// The endpoint has answered without the body, where that is not sent.
		rt.closeRequest()
	}
	rt.freeOut()
	rt.body = head.Framing(rt.request.Method)
	rt.reusable = head.Persistent() && !rt.framing.closes && rt.body != wire.UntilClose
	if rt.upload != nil && !rt.upload.last.Load() && !rt.upload.ended(0) {
		// The endpoint has not seen the whole request, and may take the rest for another (CVE-2024-24791).
		rt.reusable = false
	}
	rt.hopByHop, rt.fields = head.HopByHop, head.List
	if rt.fields != nil {
		head.Header = nil
	}
	r := &rt.response
	r.Status, r.StatusCode = statusText(head), head.Status
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, head.Minor
	if head.Minor == 0 {
		r.Proto = "HTTP/1.0"
	}
	r.Header, r.Trailer, r.Request, r.TLS = head.Header, head.Announced, rt.request, rt.cc.tls
	r.Close = !head.Persistent() || rt.body == wire.UntilClose
	if rt.request.Method == http.MethodHead || rt.body != wire.NoBody {
		r.ContentLength = head.Length
	}
	if head.Chunked {
		rt.encoding[0] = "chunked"
		r.TransferEncoding = rt.encoding[:]
	}
	switch {
	case head.Status == http.StatusSwitchingProtocols:
		return rt.switchProtocols()
	case rt.body == wire.NoBody:
		if head.Status == http.StatusNoContent && (head.Chunked || head.Length > 0) {
			// RFC 9112 section 6.1: there must be no body, and it says that there is.
			rt.reusable = false
		}
		r.Body = http.NoBody
		rt.fault = io.EOF
		rt.end()
	default:
		rt.left = head.Length
		r.Body = (*responseBody)(rt)
	}
	return nil
}

func statusText(head *wire.Response) string {
	if head.Status == http.StatusOK && head.Reason == "OK" {
		return "200 OK"
	}
	return fmt.Sprintf("%03d %s", head.Status, head.Reason)
}

// switchProtocols hands the connection over to the protocol that the endpoint agreed to.
func (rt *RoundTrip) switchProtocols() error {
	switch {
	case !rt.framing.upgrades:
		return malformed(errUnexpectedUpgrade)
	case rt.upload == nil && !rt.whole, rt.upload != nil && !rt.upload.ended(lastWrite):
		return malformed(errSwitchEarly)
	}
	cc := rt.cc
	s := &switched{conn: cc.conn, cc: cc, ahead: slices.Clone(cc.unread()), stop: rt.following.Stop}
	// The buffer goes back: the caller reads from now on.
	cc.unwatch()
	cc.recycle()
	rt.cc, rt.ended, rt.fault = nil, true, net.ErrClosed
	rt.response.Body = s
	return nil
}

// switched is a connection after a response 101: an io.ReadWriteCloser whose writing direction can be closed alone.
type switched struct {
	conn net.Conn
	cc   *clientConn
	// ahead is what came together with the head of the response.
	ahead []byte
	stop  func() bool
}

// Read reads what the endpoint sends.
func (s *switched) Read(p []byte) (int, error) {
	if len(s.ahead) > 0 {
		n := copy(p, s.ahead)
		s.ahead = s.ahead[n:]
		return n, nil
	}
	return s.conn.Read(p)
}

// Write writes to the endpoint.
func (s *switched) Write(p []byte) (int, error) { return s.conn.Write(p) }

// SpliceTo returns the connection where it is plain TCP, which the kernel can splice to; otherwise nil.
func (s *switched) SpliceTo() *net.TCPConn {
	tcp, _ := s.conn.(*net.TCPConn)
	return tcp
}

// SpliceFrom is SpliceTo for reading, and nil as long as there are bytes that were read ahead.
func (s *switched) SpliceFrom() *net.TCPConn {
	if len(s.ahead) > 0 {
		return nil
	}
	return s.SpliceTo()
}

// ReadAhead hands over what came together with the head of the response.
func (s *switched) ReadAhead() []byte {
	ahead := s.ahead
	s.ahead = nil
	return ahead
}

// CloseWrite ends the sending side of the connection.
func (s *switched) CloseWrite() error {
	return httpio.CloseWrite(s.conn)
}

// Close closes the connection.
func (s *switched) Close() error {
	s.leave()
	return s.conn.Close()
}

// Reset closes the connection as [httpio.Reset] does.
func (s *switched) Reset() error {
	s.leave()
	return httpio.Reset(s.conn)
}

// leave ends what the client knows of the connection.
func (s *switched) leave() {
	s.stop()
	s.cc.upstream.forget(s.cc)
}
