package server

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

var (
	// errNoPreface is a client that has not sent the preface in time, errNoPong one that does not answer PING.
	errNoPreface = errors.New("http2: no preface within the time for it")
	errNoPong    = errors.New("http2: no answer to PING")
	// errOver ends a connection whose last stream has ended.
	errOver = errors.New("http2: the connection has retired")
)

// life is how a connection comes to its end. The mutex of the connection guards it.
type life struct {
	// greeted says that SETTINGS has been sent, which comes before all other frames; opened that the preface has come.
	greeted, opened bool
	// retiring says that GOAWAY was sent, with the highest identifier; retired that it was sent with the last stream, and
	// others are refused.
	retiring, retired bool
	// last is the last stream that the second GOAWAY names.
	last uint32
	// over says that no stream is opened or goes on, fault why the reader is to end the connection.
	over  bool
	fault error
	cause Cause
	// heard is when bytes last came, since the start of the connection; pinged is when PING was sent; 0 without one.
	heard, pinged time.Duration
	// answered counts requests that were answered, and DATA that was sent.
	answered int
}

// pingOf returns the payload of PING: the time at which it is sent, or 0 for the one that follows GOAWAY.
func pingOf(at time.Duration) (payload [wire.PingBytes]byte) {
	binary.BigEndian.PutUint64(payload[:], uint64(at)) //nolint:gosec // not negative
	return payload
}

// heard notes that bytes have come.
func (c *serverConn) heard() error {
	now := time.Since(c.start)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.life.opened {
		return nil
	}
	c.life.heard = now
	wait := pingAfter
	if timeout := c.server.IdleTimeout; timeout > 0 && len(c.streams) == 0 {
		wait = min(wait, c.idleLeft(now)) // Frames of the connection do not prolong it.
	}
	return c.arm(now, max(wait, time.Millisecond))
}

// idleLeft returns how much is left of the time without a stream. The mutex is held.
func (c *serverConn) idleLeft(now time.Duration) time.Duration {
	return c.server.IdleTimeout - (now - c.idle.Sub(c.start))
}

// arm sets the read deadline to a time from now, unless an earlier one is set, after which tick sets the next. The
// mutex is held.
func (c *serverConn) arm(now, wait time.Duration) error {
	waking := c.life.over || c.life.fault != nil
	if waking {
		return nil
	}
	if left := c.armed - now; left > 0 && left <= wait {
		return nil
	}
	c.armed = now + wait
	return c.rwc.SetReadDeadline(c.start.Add(c.armed))
}

// tick looks at the clock: at the time without a stream, and at PING.
func (c *serverConn) tick() error {
	now := time.Since(c.start)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case !c.life.opened:
		return errNoPreface
	case c.life.fault != nil:
		c.cause = c.life.cause
		return c.life.fault
	case c.life.over:
		return errOver
	}
	wait, err := c.due(now)
	if err != nil {
		return err
	}
	return c.arm(now, wait)
}

// due returns how long to wait until something is due, or why the connection ends. The mutex is held.
func (c *serverConn) due(now time.Duration) (time.Duration, error) {
	wait := pingAfter
	if timeout := c.server.IdleTimeout; timeout > 0 && len(c.streams) == 0 {
		left := c.idleLeft(now)
		if left <= 0 {
			return 0, wire.Fault(wire.NoError, "the idle timeout")
		}
		wait = min(wait, left)
	}
	switch silent := now - c.life.heard; {
	case c.life.pinged > 0 && now-c.life.pinged >= pingTimeout:
		return 0, errNoPong
	case c.life.pinged > 0:
		wait = min(wait, pingTimeout-(now-c.life.pinged))
	case silent >= pingAfter:
		c.life.pinged = now
		c.out.set(wire.AppendPing(c.out.room(), 0, pingOf(now)))
		wait = min(wait, pingTimeout)
	default:
		wait = min(wait, pingAfter-silent)
	}
	return max(wait, time.Millisecond), nil
}

// ponged takes the answer to PING. The mutex is held.
func (c *serverConn) ponged(payload [wire.PingBytes]byte) {
	c.life.pinged = 0
	if payload == pingOf(0) && c.life.retiring {
		c.retireNow()
	}
}

// graceForStreams is how long after the first GOAWAY new streams are served, if the client does not answer PING.
const graceForStreams = time.Second

// retire sends GOAWAY that refuses no stream, since the client may be opening some, and PING, whose answer has the
// second one sent (section 6.8).
func (c *serverConn) retire() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.retireLocked()
}

// retireIdle is retire for a connection that has had no stream for so long.
func (c *serverConn) retireIdle(longer time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.streams) == 0 && time.Since(c.idle) >= longer {
		c.retireLocked()
	}
}

// retireLocked is retire. The mutex is held.
func (c *serverConn) retireLocked() {
	if c.life.retiring || c.life.over || !c.life.greeted {
		return // Without SETTINGS, open looks whether the server is draining.
	}
	c.life.retiring = true
	b := wire.AppendGoAway(c.out.room(), wire.MaxStream, wire.NoError)
	c.out.set(wire.AppendPing(b, 0, pingOf(0)))
	time.AfterFunc(graceForStreams, func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.retireNow()
	})
	c.out.start()
}

// retireNow sends GOAWAY with the last stream. The mutex is held.
func (c *serverConn) retireNow() {
	if c.life.retired || c.life.over {
		return
	}
	c.life.retired, c.life.last = true, c.lastStream
	c.out.set(wire.AppendGoAway(c.out.room(), c.life.last, wire.NoError))
	c.out.start()
	c.endIfDone()
}

// endIfDone ends the connection when it has retired and its last stream has ended. The mutex is held.
func (c *serverConn) endIfDone() {
	if c.life.retired && len(c.streams) == 0 && !c.life.over {
		c.life.over = true
		c.wakeReader()
	}
}

// fail ends the connection because of a fault, from another goroutine than the reader's.
func (c *serverConn) fail(cause Cause, fault *wire.Error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.life.fault == nil {
		c.life.fault, c.life.cause = fault, cause
	}
	c.wakeReader()
}

// wakeReader ends the Read that is under way. The mutex is held, and life says why.
func (c *serverConn) wakeReader() { _ = c.rwc.SetReadDeadline(time.Unix(1, 0)) }
