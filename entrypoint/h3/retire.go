package h3

import "net"

// Retire sends GOAWAY on the connections that are selected by the *Conn of Config.Admit. Those without a request end a
// second later, and their number is closed; others end when their requests have. The number of those is closing, but
// for connections with a hijacked stream, which are counted in neither. One whose handshake is under way is closing,
// and goes on: the handler has to end it with its first response. selected may wait: GOAWAY is sent when it has
// returned.
func (s *Server) Retire(selected func(net.Conn) bool) (closed, closing int) {
	for _, c := range s.open() {
		if !selected(c) {
			continue
		}
		c.retire()
		switch {
		case c.retiredIdle():
			closed++
		case c.tunnels.Load() == 0:
			closing++
		}
	}
	return closed, closing
}

// retiredIdle reports whether GOAWAY has been sent, and no request is left.
func (c *Conn) retiredIdle() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.retiring && c.active == 0 && !c.server.left.Load()
}
