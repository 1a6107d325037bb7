package client

import (
	"encoding/binary"
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

// life is how a connection comes to its end. The mutex of the connection guards it.
type life struct {
	// retired says that the connection takes no more requests: the endpoint has sent GOAWAY, or there are no more
	// identifiers.
	retired bool
	// err is why the connection has ended.
	err error
	// idle is since when there is no request, by the clock of the upstream.
	idle time.Duration
	// timer looks at the clock at due, or is nil.
	timer *time.Timer
	due   time.Duration
	// pinged is when PING was sent, or 0, and seen how many reads there were then: any other is the answer.
	pinged time.Duration
	seen   uint64
	// doubted is when PING was sent because a request was given up for which nothing had come, or 0. Until a response
	// comes there is no other for doubtEvery: servers of gRPC count them.
	doubted time.Duration
}

// watch sets the timer for what is due next. The mutex is held.
func (c *clientConn) watch() {
	due := c.nextDue()
	l := &c.life
	if due == 0 || l.err != nil || l.due != 0 && l.due <= due {
		return
	}
	wait := max(due-c.upstream.clock(), time.Millisecond)
	l.due = due
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, c.tick)
		return
	}
	l.timer.Reset(wait)
}

// nextDue returns when the clock is to be looked at, or 0. The mutex is held.
func (c *clientConn) nextDue() (due time.Duration) {
	config, l := &c.upstream.config, &c.life
	earlier := func(at time.Duration) {
		if due == 0 || at < due {
			due = at
		}
	}
	if config.IdleTimeout > 0 && len(c.streams) == 0 && c.reserved == 0 {
		earlier(l.idle + config.IdleTimeout)
	}
	switch {
	case l.pinged > 0:
		earlier(l.pinged + config.PingTimeout)
	case config.ReadIdleTimeout > 0:
		earlier(time.Duration(c.lastRead.Load()) + config.ReadIdleTimeout)
	}
	return due
}

// tick looks at the clock.
func (c *clientConn) tick() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	config, l := &c.upstream.config, &c.life
	if l.err != nil {
		return
	}
	l.due = 0
	now := c.upstream.clock()
	if c.reads.Load() != l.seen {
		l.pinged = 0
	}
	switch {
	case config.IdleTimeout > 0 && len(c.streams) == 0 && c.reserved == 0 && now >= l.idle+config.IdleTimeout:
		c.leave(errIdle)
	case l.pinged > 0 && now >= l.pinged+config.PingTimeout:
		c.shutLocked(errNoPong)
	case l.pinged == 0 && config.ReadIdleTimeout > 0 && now >= time.Duration(c.lastRead.Load())+config.ReadIdleTimeout:
		c.ping(now)
		c.out.start()
	}
	c.watch()
}

// ping sends PING. The mutex is held.
func (c *clientConn) ping(now time.Duration) {
	c.life.pinged, c.life.seen = max(now, 1), c.reads.Load()
	var payload [wire.PingBytes]byte
	binary.BigEndian.PutUint64(payload[:], uint64(now)) //nolint:gosec // not negative
	c.out.set(wire.AppendPing(c.out.room(), 0, payload))
}

const (
	// doubtAge is how old a request is at least whose end without a response makes its connection suspect.
	doubtAge = time.Second
	// doubtEvery is how often servers of gRPC accept PING by default.
	doubtEvery = 5 * time.Minute
)

// doubt sends PING after a request was given up during which nothing has come from the endpoint: the connection may be
// broken without a sign. The mutex is held.
func (c *clientConn) doubt(rt *RoundTrip) {
	l, now := &c.life, c.upstream.clock()
	switch {
	case c.reads.Load() != rt.reads || now-rt.began < doubtAge || l.err != nil:
		return
	case l.doubted > 0 && (now-l.doubted < doubtEvery || l.pinged > 0 && l.seen == c.reads.Load()):
		return
	}
	l.doubted = max(now, 1)
	c.ping(now)
	c.watch()
}

// suspect reports whether the connection takes no requests because the answer to the PING of doubt has not come. The
// mutex is held.
func (c *clientConn) suspect() bool {
	return c.life.doubted > 0 && c.life.pinged > 0 && c.life.seen == c.reads.Load()
}
