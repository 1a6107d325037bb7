package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// sweepTime is the time between two looks at young connections. A connection is watched at the second one: many serve
// one request and are closed before.
const sweepTime = 5 * time.Millisecond

// age is how far a connection is on its way to be watched.
type age uint8

const (
	// unreported connections are none that the system would report about.
	unreported age = iota
	newborn
	seen
	// grown connections are watched, and so are those behind them in the list.
	grown
)

// watched is the registration for the end of a connection.
type watched struct {
	// reports says that the system reports, sooner or later, that the client has left.
	reports atomic.Bool
	mutex   sync.Mutex
	ticket  uint64
	over    bool
}

// armSweep starts the timer for young connections. One timer serves all of them. The mutex is held.
func (s *Server) armSweep() {
	if s.sweeping {
		return
	}
	s.sweeping = true
	if s.sweep == nil {
		s.sweep = time.AfterFunc(sweepTime, s.watchGrown)
		return
	}
	s.sweep.Reset(sweepTime)
}

// watchGrown watches the connections that were there at the last look.
func (s *Server) watchGrown() {
	for _, c := range s.look() {
		c.watch()
	}
}

// look returns the connections that are to be watched now.
func (s *Server) look() []*serverConn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sweeping = false
	var due []*serverConn
	for c := s.conns; c != nil && c.age != grown; c = c.next {
		switch c.age {
		case newborn:
			c.age = seen
			s.armSweep()
		case seen:
			c.age = grown
			due = append(due, c)
		}
	}
	return due
}

// watch has PeerClosed called when the client leaves, or has left. Where the system refuses, the connection is read
// ahead.
func (c *serverConn) watch() {
	w := &c.watched
	w.mutex.Lock()
	if w.ticket != 0 || w.over || !w.reports.Load() {
		w.mutex.Unlock()
		return
	}
	ticket, ok := c.server.watch.Add(c.raw, c)
	w.ticket = ticket
	w.reports.Store(ok)
	w.mutex.Unlock()
	if !ok {
		if current := c.current.Load(); current != nil {
			current.readAheadForEnd()
		}
	}
}

// unwatch ends what watch began.
func (c *serverConn) unwatch() {
	w := &c.watched
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.over = true
	c.server.watch.Remove(w.ticket)
	w.ticket = 0
}
