package server

import "time"

// ErrTooSlow is what external tests name.
var ErrTooSlow = errTooSlow

// What external tests measure with.
const (
	Burst        = burst
	StreamWindow = streamWindow
	ConnWindow   = connWindow
	PingAfter    = pingAfter
	PingTimeout  = pingTimeout
	WriteTimeout = writeTimeout
	StreamGrace  = time.Duration(graceForStreams)
)

// Poison has memory that a server takes back overwritten, so that a test sees what still uses it.
func Poison(s *Server) { s.pool.poison = true }

// Running returns how many handlers run, of all connections that are open.
func Running(s *Server) (n int) {
	for _, c := range s.open() {
		c.mutex.Lock()
		n += c.running
		c.mutex.Unlock()
	}
	return n
}

// Charged returns what the heads of all connections are charged beyond what is free.
func Charged(s *Server) int64 {
	s.heads.mutex.Lock()
	defer s.heads.mutex.Unlock()
	return s.heads.total
}
