package server

import (
	"math"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// lingerTime and lingerBytes bound how long a connection is read after its end, so that the answer is not lost to a
	// reset (RFC 9112, section 9.6).
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// linger ends the sending side of the connection, and reads for a moment what it still sends. A client that sends too
// much is left to wait: closing would lose the answer that it has not read yet.
func (c *serverConn) linger() {
	if httpio.CloseWrite(c.rwc) != nil {
		return
	}
	if c.secure != nil {
		_ = httpio.CloseWrite(httpio.Bottom(c.rwc)) // close_notify has been sent within TLS
	}
	by := time.Now().Add(lingerTime)
	_ = c.rwc.SetReadDeadline(by)
	if c.skim(lingerBytes) && c.hold(by) {
		c.skim(math.MaxInt)
	}
}

// pending looks whether the system has something from the client that has not been read. To close on it would reset the
// connection.
func (c *serverConn) pending() bool {
	return c.raw != nil && hasMore(c.raw)
}

// skim reads and discards, and reports whether there may be more.
func (c *serverConn) skim(limit int) bool {
	buf := c.server.pool.read()
	defer c.server.pool.putRead(buf)
	for total := 0; total < limit; {
		n, err := c.rwc.Read(buf[:])
		if err != nil {
			return false
		}
		total += n
	}
	return true
}

// hold keeps a connection unread until a time. It ends early, with true, once the client has said its last: what is
// there then has an end. The server's Close ends it too.
func (c *serverConn) hold(by time.Time) bool {
	// It stands for a request whose body has been read, so that what ends one ends it.
	wait := &requestContext{conn: c}
	wait.whole.Store(true)
	last := c.current.Load()
	if last != nil {
		// A Read that its handler left behind may still look for it.
		wait.exchange = last.exchange
	}
	c.current.Store(wait)
	defer c.current.Store(last)
	c.watch()
	if c.left.Load() != clientStays {
		return true
	}
	timer := time.NewTimer(time.Until(by))
	defer timer.Stop()
	select {
	case <-wait.Context.Done():
		return true
	case <-timer.C:
		return false
	}
}
