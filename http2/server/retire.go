package server

import "net"

// Retire sends GOAWAY to the clients that are selected by the connection of ServeConn. Connections without a stream end
// within a second, and their number is closed; others end with their last stream. The number of those is closing, but
// for connections with a hijacked stream, which are counted in neither. selected may wait: GOAWAY is sent when it has
// returned.
func (s *Server) Retire(selected func(net.Conn) bool) (closed, closing int) {
	for _, c := range s.open() {
		if !selected(c.rwc) {
			continue
		}
		switch idle, tunnels := c.retireByHand(); {
		case idle:
			closed++
		case !tunnels:
			closing++
		}
	}
	return closed, closing
}

// retireByHand is retire. It reports whether the connection has no stream, and whether one is hijacked.
func (c *serverConn) retireByHand() (idle, tunnels bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.retireLocked()
	for _, x := range c.streams {
		tunnels = tunnels || x.hijacked
	}
	return len(c.streams) == 0, tunnels
}
