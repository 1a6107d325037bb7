package http1

import (
	"slices"
	"time"
)

// take returns the newest idle connection that is alive, or nil. Those found dead on the way are closed.
func (u *Upstream) take(now time.Duration) *clientConn {
	for {
		l := u.pop()
		if l == nil {
			return nil
		}
		if !u.tooOld(l, now) && l.quiet() {
			l.reused = true
			return l
		}
		l.close()
	}
}

func (u *Upstream) pop() *clientConn {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if len(u.idle) == 0 {
		return nil
	}
	last := len(u.idle) - 1
	l := u.idle[last]
	u.idle[last] = nil
	u.idle = u.idle[:last]
	return l
}

// tooOld reports whether the time of an idle connection is over.
func (u *Upstream) tooOld(l *clientConn, now time.Duration) bool {
	return u.config.IdleTimeout > 0 && now-l.idleSince >= u.config.IdleTimeout ||
		u.config.MaxAge > 0 && now-l.born >= u.config.MaxAge
}

// put keeps a connection whose exchange has ended in good order, or closes it.
func (u *Upstream) put(l *clientConn) {
	if u.config.MaxIdle < 0 {
		l.close()
		return
	}
	l.idleSince = u.clock()
	l.recycle()
	l.want = 0
	u.client.watch.add(l)
	// A FIN that came before the connection is on the list finds it nowhere: gone is looked at under the same lock that
	// the watch takes to look for it.
	u.mutex.Lock()
	keep := !u.closed && !l.gone.Load() && !u.tooOld(l, l.idleSince)
	var oldest *clientConn
	if keep {
		if len(u.idle) >= u.config.MaxIdle {
			oldest = u.idle[0]
			u.idle = slices.Delete(u.idle, 0, 1)
		}
		u.idle = append(u.idle, l)
		u.arm(l.idleSince)
	}
	u.mutex.Unlock()
	if !keep {
		l.close()
	}
	if oldest != nil {
		oldest.close()
	}
}

// drop closes a connection whose endpoint has closed it, if it is idle. One in use is only marked: its response may
// still be on the way.
func (u *Upstream) drop(l *clientConn) {
	l.gone.Store(true)
	u.mutex.Lock()
	at := slices.Index(u.idle, l)
	if at >= 0 {
		u.idle = slices.Delete(u.idle, at, at+1)
	}
	u.mutex.Unlock()
	if at >= 0 {
		l.close()
	}
}

// CloseIdleConnections closes the connections that no request uses. Those in use are kept or closed as ever when their
// requests are done.
func (u *Upstream) CloseIdleConnections() {
	u.mutex.Lock()
	idle := u.idle
	u.idle = nil
	if u.armed {
		u.timer.Stop()
		u.armed = false
	}
	u.mutex.Unlock()
	for _, l := range idle {
		l.close()
	}
}

// arm starts the clock that closes idle connections when no request takes them. One timer serves all of them, and no
// request touches it while it runs. The mutex is held.
func (u *Upstream) arm(now time.Duration) {
	if u.armed || u.config.IdleTimeout <= 0 || len(u.idle) == 0 {
		return
	}
	wait := max(u.idle[0].idleSince+u.config.IdleTimeout-now, time.Millisecond)
	u.armed = true
	if u.timer == nil {
		u.timer = time.AfterFunc(wait, u.expire)
		return
	}
	u.timer.Reset(wait)
}

// expire closes the connections at the bottom of the stack whose time is over.
func (u *Upstream) expire() {
	now := u.clock()
	u.mutex.Lock()
	u.armed = false
	n := 0
	for n < len(u.idle) && u.tooOld(u.idle[n], now) {
		n++
	}
	expired := slices.Clone(u.idle[:n])
	u.idle = slices.Delete(u.idle, 0, n)
	u.arm(now)
	u.mutex.Unlock()
	for _, l := range expired {
		l.close()
	}
}

// Idle returns how many connections are kept that no request uses.
func (u *Upstream) Idle() int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return len(u.idle)
}
