package server

import "net"

// Retire ends keep-alive on the connections that are selected by the connection of ServeConn. Idle ones are closed at
// once, and their number is closed. Those with a request under way, or of which a part has come, end with its response;
// their number is closing. Hijacked ones are selected and counted in neither.
func (s *Server) Retire(selected func(net.Conn) bool) (closed, closing int) {
	s.mutex.Lock()
	open := s.open()
	s.mutex.Unlock()
	for _, c := range open {
		if !selected(c.rwc) {
			continue
		}
		// await looks at it after it has set the state that closeIdle takes back.
		c.retiring.Store(true)
		c.closeIdle()
		switch {
		case c.state.Load() == connClosed:
			closed++
		case !c.hijacked():
			closing++
		}
	}
	return closed, closing
}

// hijacked reports whether the handler that is running has taken the connection over.
func (c *serverConn) hijacked() bool {
	current := c.current.Load()
	return current != nil && current.exchange != nil && current.exchange.hijacked.Load()
}
