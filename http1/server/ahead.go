package server

import (
	"errors"
	"os"
	"sync"
	"time"
)

// aheadReader reads a byte ahead where the system does not report that the client has left.
type aheadReader struct {
	mutex    sync.Mutex
	over     *sync.Cond
	read     func()
	wanted   bool
	running  bool
	stopping bool
	byte     [1]byte
	has      bool
}

// readAheadForEnd is called when the end of the request's context is waited for.
func (s *requestContext) readAheadForEnd() {
	c := s.conn
	if c.watched.reports.Load() {
		return
	}
	a := &c.ahead
	a.mutex.Lock()
	defer a.mutex.Unlock()
	// What hold waits for has a context without a request of its own.
	if c.current.Load() == s && s.Err() == nil && s.exchange != nil && s.exchange.context == s {
		a.wanted = true
		s.exchange.startReadAhead()
	}
}

// bodyEnded is called when nothing is left to read for the handler.
func (x *exchange) bodyEnded() {
	c := x.conn
	if c.watched.reports.Load() || !x.guard.Open() {
		return
	}
	c.ahead.mutex.Lock()
	defer c.ahead.mutex.Unlock()
	x.startReadAhead()
}

// startReadAhead starts reading if it is wanted and safe. The mutex is held.
func (x *exchange) startReadAhead() {
	c := x.conn
	a := &c.ahead
	if !a.wanted || a.running || a.stopping || !x.body.ended.Load() || x.hijacked.Load() || c.at < c.end {
		return
	}
	a.running = true
	if a.over == nil {
		a.over, a.read = sync.NewCond(&a.mutex), c.readAhead
	}
	c.armed = time.Time{}
	_ = c.rwc.SetReadDeadline(time.Time{})
	go a.read()
}

func (c *serverConn) readAhead() {
	a := &c.ahead
	n, err := c.rwc.Read(a.byte[:])
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.has = n == 1
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
	a.running = false
	a.over.Broadcast()
}

// stopReadAhead ends reading ahead, and keeps what it has read.
func (x *exchange) stopReadAhead() {
	c := x.conn
	if c.watched.reports.Load() {
		return
	}
	a := &c.ahead
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.wanted = false
	if a.running {
		a.stopping = true
		_ = c.rwc.SetReadDeadline(time.Unix(1, 0))
		for a.running {
			a.over.Wait()
		}
		a.stopping = false
		_ = c.rwc.SetReadDeadline(time.Time{})
	}
	if a.has {
		a.has = false
		c.room()
		c.in[c.end] = a.byte[0]
		c.end++
	}
}
