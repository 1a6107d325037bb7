package server

import (
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/http2/flood"
)

// ErrTooSlow is what external tests name.
var ErrTooSlow = errTooSlow

// What external tests measure with.
const (
	Burst        = flood.Burst
	StreamWindow = streamWindow
	ConnWindow   = connWindow
	MinWindow    = minWindow
	PingAfter    = pingAfter
	PingTimeout  = pingTimeout
	WriteTimeout = writeTimeout
	StreamGrace  = time.Duration(graceForStreams)
)

// Poison has memory that a server takes back overwritten, so that a test sees what still uses it.
func Poison(s *Server) { s.pool.Poison = true }

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
	return s.heads.Charged()
}

// Windows returns what connections have beyond the least.
func Windows(s *Server) int64 { return s.windows.Load() }

// BeginRead has a call of Read under way that does not end.
func BeginRead(w http.ResponseWriter) { w.(*exchange).guard.Read() }

// Reading reports whether a call of Read is under way.
func Reading(w http.ResponseWriter) bool { return w.(*exchange).guard.Under().Reads }

// Waiting reports whether a response waits for a window, or for room.
func Waiting(w http.ResponseWriter) bool {
	x := w.(*exchange)
	x.conn.mutex.Lock()
	defer x.conn.mutex.Unlock()
	return len(x.unsent) > 0
}
