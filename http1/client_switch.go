package http1

import (
	"net"
	"slices"
)

// switchProtocols hands the connection over to the protocol that the endpoint agreed to.
func (c *Call) switchProtocols() error {
	switch {
	case !c.framing.upgrades:
		return malformed(errNotAsked)
	case c.upload == nil && !c.whole, c.upload != nil && !c.upload.ended(lastWrite):
		return malformed(errSwitchEarly)
	}
	l := c.link
	s := &switched{conn: l.conn, link: l, ahead: slices.Clone(l.unread()), stop: c.following.stop}
	// The buffer goes back: its reader from now on is somebody else.
	l.upstream.client.watch.remove(l)
	l.recycle()
	c.link, c.ended, c.fault = nil, true, net.ErrClosed
	c.response.Body = s
	return nil
}

// switched is a connection after a response 101: an io.ReadWriteCloser whose writing direction can be closed alone.
type switched struct {
	conn net.Conn
	link *link
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

// SpliceFrom is SpliceTo for who reads, and nil as long as there are bytes that were read ahead.
func (s *switched) SpliceFrom() *net.TCPConn {
	if len(s.ahead) > 0 {
		return nil
	}
	return s.SpliceTo()
}

// CloseWrite tells the endpoint that nothing more will come.
func (s *switched) CloseWrite() error {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok {
		return net.ErrClosed
	}
	return half.CloseWrite()
}

// Close closes the connection.
func (s *switched) Close() error {
	s.stop()
	s.link.upstream.forget(s.link)
	return s.conn.Close()
}
