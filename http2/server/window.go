package server

import "github.com/sluiceproxy/sluice/http2/wire"

// DefaultMaxWindowBytes is Server.MaxWindowBytes by default.
const DefaultMaxWindowBytes = 64 << 20

func (s *Server) maxWindowBytes() int64 {
	if s.MaxWindowBytes > 0 {
		return s.MaxWindowBytes
	}
	return DefaultMaxWindowBytes
}

// growWindow lets the client of a connection send more than the least once it has used half of that, if all connections
// together allow it: others keep the least. The mutex is held.
func (c *serverConn) growWindow() {
	more := connWindow - c.window
	if c.recvWindow > minWindow/2 || more == 0 || c.life.over {
		return
	}
	if s := c.server; s.windows.Add(more) > s.maxWindowBytes() {
		s.windows.Add(-more)
		return
	}
	c.window += more
	c.recvWindow += more
	c.out.set(wire.AppendWindowUpdate(c.out.room(), 0, int32(more))) //nolint:gosec // below the window
}

// giveCredit gives back what has been used of the window of the connection, once it is as much as is left of it: half
// of the window, or less while a part of it waits to be read, which must not stop other streams. A connection without
// streams keeps it, so that its window shrinks again. The mutex is held.
func (c *serverConn) giveCredit() {
	if surplus := min(c.credit, c.window-minWindow); surplus > 0 && len(c.streams) == 0 && !c.life.over {
		c.credit -= surplus
		c.window -= surplus
		c.server.windows.Add(-surplus)
	}
	if c.credit < c.recvWindow || c.credit == 0 {
		return
	}
	c.out.set(wire.AppendWindowUpdate(c.out.room(), 0, int32(c.credit))) //nolint:gosec // below the window
	c.recvWindow += c.credit
	c.credit = 0
}
