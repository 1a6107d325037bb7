package http1

import (
	"io"
	"net/http"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// responseBody is the body of a RoundTrip's response. One goroutine reads it; any other may close it meanwhile.
type responseBody RoundTrip

// Read reads the next piece. The error at the end is io.EOF, together with the last bytes.
func (b *responseBody) Read(p []byte) (int, error) {
	c := (*RoundTrip)(b)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended {
		return 0, c.fault
	}
	if len(p) == 0 {
		return 0, nil
	}
	return c.read(p)
}

// Ready reports whether all that is left of the body has been read ahead already.
func (b *responseBody) Ready() bool {
	c := (*RoundTrip)(b)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return !c.ended && c.body == wire.FixedLength && int64(len(c.cc.unread())) >= c.left
}

// Close ends the exchange. A connection whose response has not been read to its end is closed, unless the rest is there
// already.
func (b *responseBody) Close() error {
	c := (*RoundTrip)(b)
	if !c.mutex.TryLock() {
		// A Read is waiting.
		c.closing.Store(true)
		c.hold.Lock()
		if c.cc != nil {
			c.cc.abort()
		}
		c.hold.Unlock()
		c.mutex.Lock()
	}
	defer c.mutex.Unlock()
	if !c.ended {
		c.abandon()
	}
	if c.fault == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		c.fault = http.ErrBodyReadAfterClose
	}
	return nil
}

// abandon ends the exchange before the end of the body.
func (c *RoundTrip) abandon() {
	l := c.cc
	if c.body == wire.FixedLength && int64(len(l.unread())) >= c.left {
		l.skip(int(c.left))
	} else {
		c.reusable = false
	}
	c.fault = http.ErrBodyReadAfterClose
	c.end()
}

// read reads a piece of the body into p, which is not empty. It ends the exchange at the body's end.
func (c *RoundTrip) read(p []byte) (n int, err error) {
	switch c.body {
	case wire.FixedLength:
		n, err = c.readFixed(p)
	case wire.ChunkedBody:
		n, err = c.readChunked(p)
	default:
		n, err = c.cc.read(p)
	}
	switch {
	case err == io.EOF: //nolint:errorlint // io.EOF is never wrapped
		c.fault = io.EOF
		c.end()
	case err != nil:
		c.fail(err)
		err = c.fault
	}
	return n, err
}

func (c *RoundTrip) readFixed(p []byte) (int, error) {
	n, err := c.cc.read(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); c.left == 0 {
		return n, io.EOF
	}
	return n, truncated(err)
}

func (c *RoundTrip) readChunked(p []byte) (int, error) {
	l := c.cc
	for {
		put, took, err := c.chunked.Decode(p, l.unread())
		l.skip(took)
		if err == nil && put == len(p) {
			// What ends the body may be there, behind the last data.
			_, took, err = c.chunked.Decode(nil, l.unread())
			l.skip(took)
		}
		switch {
		case err != nil:
			return put, malformed(err)
		case c.chunked.Done():
			c.takeTrailer()
			return put, io.EOF
		case put > 0:
			return put, nil
		}
		if pending := c.chunked.Pending(); pending > 0 && len(p) >= clientBytes {
			n, err := l.conn.Read(p[:min(int64(len(p)), pending)])
			c.chunked.Took(n)
			return n, truncated(err)
		}
		if err := l.fill(); err != nil {
			return 0, truncated(err)
		}
	}
}

func (c *RoundTrip) takeTrailer() {
	if c.response.Trailer == nil {
		c.response.Trailer = c.chunked.Trailer
		return
	}
	for name, values := range c.chunked.Trailer {
		c.response.Trailer[name] = values
	}
}
