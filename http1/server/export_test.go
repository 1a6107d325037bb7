package server

import "net/http"

// What external tests name.
var (
	ErrIncomplete  = errIncomplete
	ErrExpectation = errExpectation
	ErrTooSlow     = errTooSlow
)

// LingerBytes is how many bytes are read after the end of a connection.
const LingerBytes = lingerBytes

// Poison has buffers that a server takes back overwritten, so that a test sees what still reads them.
func Poison(s *Server) { s.pool.poison = true }

// Idle returns how many connections wait for a request.
func Idle(s *Server) int {
	return count(s, func(c *serverConn) bool { return c.state.Load() == connIdle })
}

// Pending returns how many connections have bytes that the server has not read.
func Pending(s *Server) int { return count(s, (*serverConn).pending) }

// Left returns of how many connections the client has ended its side.
func Left(s *Server) int {
	return count(s, func(c *serverConn) bool { return c.left.Load() != clientStays })
}

func count(s *Server, counts func(*serverConn) bool) (n int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for c := s.conns; c != nil; c = c.next {
		if counts(c) {
			n++
		}
	}
	return n
}

// Writing reports whether a call of Write is under way.
func Writing(w http.ResponseWriter) bool { return w.(*exchange).guard.Under().Writes }

// BeginRead has a call of Read under way that does not end.
func BeginRead(w http.ResponseWriter) { w.(*exchange).guard.Read() }
