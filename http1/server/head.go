package server

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// maxEmptyLines is how many bytes of empty lines are ignored before a request, over all reads (RFC 9112, section 2.2).
const maxEmptyLines = 2 * len("\r\n")

// readHead waits for the next head, and returns its length in what has been read and when its first bytes were there.
// Empty lines before it are no request: with nothing behind them the connection is idle.
func (c *serverConn) readHead(first bool) (end int, start time.Time, err error) {
	for skipped, found := 0, false; !found; found = c.at < c.end {
		if c.at == c.end {
			if err = c.await(first, skipped > 0); err != nil {
				return 0, start, err
			}
		}
		start = time.Now()
		c.rate.reset()
		for {
			n, more := wire.SkipEmptyLines(c.in[c.at:min(c.end, c.at+maxEmptyLines-skipped)])
			c.at += n
			skipped += n
			if !more {
				break
			}
			if err = c.fillHead(start); err != nil {
				return 0, start, err
			}
		}
	}
	limits := c.server.limits()
	c.scanner.Reset()
	for {
		if end, err = c.scanner.Scan(c.in[c.at:c.end], limits); end > 0 || err != nil {
			return end, start, err
		}
		if err = c.fillHead(start); err != nil {
			return 0, start, err
		}
	}
}

// fillHead reads more of a head that has begun.
func (c *serverConn) fillHead(start time.Time) error {
	by := after(start, c.server.ReadTimeout)
	if rate := c.server.MinRate; rate > 0 {
		c.rate.bytes = int64(c.end - c.at)
		by = earlier(by, start.Add(c.rate.allowance(rate)))
	}
	err := c.fill(by)
	if errors.Is(err, io.EOF) && c.end > c.at {
		return errIncomplete
	}
	return err
}

// errIncomplete is a head that ends with the connection.
var errIncomplete = &wire.Error{
	Status: http.StatusBadRequest, Reason: "incomplete request", Section: "RFC 9112, section 8",
}

// await waits for the first bytes of a request, or again for those behind empty lines. A connection that waits has no
// buffer, as far as the system allows it.
func (c *serverConn) await(first, again bool) error {
	c.drop()
	limit := c.server.IdleTimeout
	if first || limit <= 0 {
		limit = c.server.ReadTimeout
	}
	by := time.Time{}
	if c.begun.IsZero() {
		c.begun = time.Now()
	}
	if limit > 0 {
		by = c.begun.Add(limit)
	}
	if !c.retires(first, again) {
		c.rested.Store(int64(c.begun.Sub(c.opened)))
		c.state.Store(connIdle)
		if !c.retires(first, again) {
			if first && c.ends() {
				// Shutdown or Retire may have passed by before the connection was idle, and would not close it.
				by = earlier(by, time.Now().Add(lingerTime))
			}
			err := c.wait(by)
			if !c.state.CompareAndSwap(connIdle, connBusy) {
				return io.ErrClosedPipe
			}
			return err
		}
		if !c.state.CompareAndSwap(connIdle, connBusy) {
			return io.ErrClosedPipe
		}
	}
	if !c.pending() {
		return io.ErrClosedPipe
	}
	// What has come may be less than a request.
	return c.wait(earlier(by, time.Now().Add(lingerTime)))
}

// retires reports whether the connection ends instead of being idle. Before, its last response may have been sent
// without the end of keep-alive. One that is new waits for its first request.
func (c *serverConn) retires(first, again bool) bool { return (!first || again) && c.ends() }

// ends reports whether Shutdown has begun, or Retire has selected the connection.
func (c *serverConn) ends() bool {
	return c.retiring.Load() || c.server.draining.Load() && c.server.ending()
}

// wait waits for bytes, until by at the latest. A buffer is taken when there is something to read, as far as the system
// allows it.
func (c *serverConn) wait(by time.Time) error {
	if c.plain == nil || !c.idle.able() {
		if c.secure == nil {
			return c.fill(by)
		}
		n, err := c.readBy(c.first[:], by)
		if n == 0 {
			return err
		}
		c.room()
		c.in[0], c.end = c.first[0], 1
		// The rest of the record is there.
		return nil
	}
	for {
		c.arm(by)
		n, err := c.idle.read(c.plain)
		if n > 0 {
			c.end = n
			return nil
		}
		if !c.early(err, by) {
			return err
		}
	}
}

// rateMeter measures how slowly a client sends.
type rateMeter struct {
	bytes  int64
	waited time.Duration
}

func (m *rateMeter) reset() { *m = rateMeter{} }

// maxSeconds bounds the time that the bytes of a client earn it. Nanoseconds of it fit into a time.Duration.
const maxSeconds = 1e9

// allowance returns how much longer the client may keep us waiting.
func (m *rateMeter) allowance(rate int) time.Duration {
	// In integers, nanoseconds would overflow behind 9 GB.
	earned := min(float64(m.bytes)/float64(rate), maxSeconds)
	return graceForRate + time.Duration(earned*float64(time.Second)) - m.waited
}
