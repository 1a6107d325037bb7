package http1

import (
	"fmt"
	"io"
	"net/http"

	"github.com/sluiceproxy/sluice/http1/wire"
)

const (
	// maxResponseFields bounds the fields of a response's head, whose cost in memory is a multiple of their bytes.
	maxResponseFields = 1000
	// maxInterims bounds the informational responses before the final one.
	maxInterims = 64
)

// receive reads the head of the final response, and answers to the informational ones before it.
func (c *RoundTrip) receive(head *wire.Response) error {
	l := c.cc
	limits := wire.Limits{HeadBytes: c.upstream.config.MaxHeaderBytes, Fields: maxResponseFields}
	var scan wire.Scanner
	for {
		n, err := scan.Scan(l.unread(), limits)
		switch {
		case err != nil:
			return malformed(err)
		case n == 0:
			if !l.grow(limits.HeadBytes) {
				return malformed(wire.ErrHeadTooLarge)
			}
			if err = c.await(); err != nil {
				return err
			}
			continue
		}
		if !interimStatus(l.unread()) {
			head.Header, head.Values, head.List = c.Header, c.Values[:0], c.List
		}
		if err = head.Parse(l.unread()[:n]); err != nil {
			return malformed(err)
		}
		l.skip(n)
		if head.Status >= http.StatusOK || head.Status == http.StatusSwitchingProtocols {
			return nil
		}
		if err = c.interim(head); err != nil {
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
func (c *RoundTrip) await() error {
	for {
		err := c.cc.fill()
		if err == nil {
			if !c.received {
				c.received = true
				c.gotFirstByte()
			}
			return nil
		}
		switch {
		case c.framing.expects && isTimeout(err):
			c.proceed()
		case isTimeout(err):
			return errHeadTimeout
		case err == io.EOF && !c.received: //nolint:errorlint // io.EOF is never wrapped
			return errServerClosed
		default:
			return fmt.Errorf("reading the response: %w", truncated(err))
		}
	}
}

// proceed sends the body that waited for leave.
func (c *RoundTrip) proceed() {
	c.framing.expects = false
	c.unlimit(false)
	c.startUpload(nil)
}

// interim handles an informational response.
func (c *RoundTrip) interim(head *wire.Response) error {
	if c.interims++; c.interims > maxInterims {
		return errInterim
	}
	if head.Status == http.StatusContinue {
		c.got100()
		if c.framing.expects {
			c.proceed()
		}
	}
	if c.Informational == nil {
		return nil
	}
	return c.Informational(head.Status, head.Header)
}

// accept makes the response of its head.
func (c *RoundTrip) accept(head *wire.Response) error {
	c.unlimit(true)
	if c.upload == nil {
		// The endpoint has answered without the body, where that is not sent.
		c.closeRequest()
	}
	c.freeOut()
	c.body = head.Framing(c.request.Method)
	c.reusable = head.Persistent() && !c.framing.closes && c.body != wire.UntilClose
	if c.upload != nil && !c.upload.last.Load() && !c.upload.ended(0) {
		// The endpoint has not seen the whole request, and may take the rest for another (CVE-2024-24791).
		c.reusable = false
	}
	c.hopByHop, c.fields = head.HopByHop, head.List
	if c.fields != nil {
		head.Header = nil
	}
	c.fill(head)
	switch {
	case head.Status == http.StatusSwitchingProtocols:
		return c.switchProtocols()
	case c.body == wire.NoBody:
		if head.Status == http.StatusNoContent && (head.Chunked || head.Length > 0) {
			// RFC 9112 section 6.1: there must be no body, and it says that there is.
			c.reusable = false
		}
		c.response.Body = http.NoBody
		c.fault = io.EOF
		c.end()
	default:
		c.left = head.Length
		c.response.Body = (*responseBody)(c)
	}
	return nil
}

// fill writes what the head says into the response.
func (c *RoundTrip) fill(head *wire.Response) {
	r := &c.response
	r.Status, r.StatusCode = statusText(head), head.Status
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, head.Minor
	if head.Minor == 0 {
		r.Proto = "HTTP/1.0"
	}
	r.Header, r.Trailer, r.Request = head.Header, head.Announced, c.request
	r.TLS = c.cc.tls
	r.Close = !head.Persistent() || c.body == wire.UntilClose
	switch {
	case c.request.Method == http.MethodHead:
		r.ContentLength = head.Length
	case c.body == wire.NoBody:
		r.ContentLength = 0
	default:
		r.ContentLength = head.Length
	}
	if head.Chunked {
		c.encoding[0] = "chunked"
		r.TransferEncoding = c.encoding[:]
	}
}

func statusText(head *wire.Response) string {
	if head.Status == http.StatusOK && head.Reason == "OK" {
		return "200 OK"
	}
	return fmt.Sprintf("%03d %s", head.Status, head.Reason)
}
