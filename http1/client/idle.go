package client

import (
	"slices"
	"time"
)

// take returns the newest idle connection that is alive, or nil. Those found dead on the way are closed.
func (u *Upstream) take() *clientConn {
	for now := u.clock(); ; {
		cc := u.pop()
		if cc == nil {
			return nil
		}
		if !u.tooOld(cc, now) && cc.quiet() {
			cc.reused = true
			return cc
		}
		cc.close()
	}
}

func (u *Upstream) pop() *clientConn {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if len(u.idle) == 0 {
		return nil
	}
	last := len(u.idle) - 1
	cc := u.idle[last]
	u.idle[last] = nil
	u.idle = u.idle[:last]
	return cc
}

// tooOld reports whether the time of an idle connection is over.
func (u *Upstream) tooOld(cc *clientConn, now time.Duration) bool {
	return u.config.IdleTimeout > 0 && now-cc.idleSince >= u.config.IdleTimeout ||
		u.config.MaxAge > 0 && now-cc.born >= u.config.MaxAge
}

// put keeps a connection whose exchange has ended in good order, or closes it.
func (u *Upstream) put(cc *clientConn) {
	if u.config.MaxIdle < 0 {
		cc.close()
		return
	}
	cc.idleSince = u.clock()
	cc.recycle()
	cc.want = 0
	cc.watch()
	// A FIN that came before the connection is on the list finds it nowhere: gone is looked at under the same lock that
	// the watch takes to look for it.
	u.mutex.Lock()
	keep := !u.closed && !cc.gone.Load() && !u.tooOld(cc, cc.idleSince)
	var oldest *clientConn
	if keep {
		if len(u.idle) >= u.config.MaxIdle {
			oldest = u.idle[0]
			u.idle = slices.Delete(u.idle, 0, 1)
		}
		u.idle = append(u.idle, cc)
		u.arm(cc.idleSince)
	}
	u.mutex.Unlock()
	if !keep {
		cc.close()
	}
	if oldest != nil {
		oldest.close()
	}
}

// PeerClosed closes a connection whose endpoint has closed it, if it is idle. One in use is only marked: its response
// may still be on the way.
func (cc *clientConn) PeerClosed(bool) {
	u := cc.upstream
	cc.gone.Store(true)
	u.mutex.Lock()
	at := slices.Index(u.idle, cc)
	if at >= 0 {
		u.idle = slices.Delete(u.idle, at, at+1)
	}
	u.mutex.Unlock()
	if at >= 0 {
		cc.close()
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
	for _, cc := range idle {
		cc.close()
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
	for _, cc := range expired {
		cc.close()
	}
}

// Idle returns how many connections are kept that no request uses.
func (u *Upstream) Idle() int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return len(u.idle)
}
