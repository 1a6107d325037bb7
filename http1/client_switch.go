package http1

import (
	"net"
	"slices"

	"github.com/sluiceproxy/sluice/httpio"
)

// switchProtocols hands the connection over to the protocol that the endpoint agreed to.
func (c *RoundTrip) switchProtocols() error {
	switch {
	case !c.framing.upgrades:
		return malformed(errNotAsked)
	case c.upload == nil && !c.whole, c.upload != nil && !c.upload.ended(lastWrite):
		return malformed(errSwitchEarly)
	}
	l := c.cc
	s := &switched{conn: l.conn, cc: l, ahead: slices.Clone(l.unread()), stop: c.following.stop}
	// The buffer goes back: the caller reads from now on.
	l.upstream.client.watch.remove(l)
	l.recycle()
	c.cc, c.ended, c.fault = nil, true, net.ErrClosed
	c.response.Body = s
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

// CloseWrite ends the sending side of the connection.
func (s *switched) CloseWrite() error {
	return httpio.CloseWrite(s.conn)
}

// Close closes the connection.
func (s *switched) Close() error {
	s.stop()
	s.cc.upstream.forget(s.cc)
	return s.conn.Close()
}
