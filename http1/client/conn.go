package client

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// clientConn is one connection to an upstream. It is owned by one exchange at a time, or by the idle ones; only abort,
// gone and the deadlines may be used by any goroutine.
type clientConn struct {
	upstream *Upstream
	// conn is what bytes go through: bottom itself, or TLS on top of it.
	conn net.Conn
	// bottom is the connection below TLS.
	bottom net.Conn
	// tcp is the connection where it is plain TCP, which the kernel can splice; otherwise nil.
	tcp *net.TCPConn
	tls *tls.ConnectionState
	// probe reads and writes without waiting; nil where the system offers no way.
	probe *probe
	// raw is the bottom for the watch; nil when it has no descriptor.
	raw syscall.RawConn
	// abort closes the connection at once. It is one value for the life of the connection, so that following a
	// context costs nothing.
	abort func()

	// next and previous are the neighbours in the upstream's list of connections, which its mutex guards.
	next, previous *clientConn

	// born and idleSince are times of the upstream's clock.
	born, idleSince time.Duration
	// aged says that keep-alive has been set. The upstream's mutex guards it.
	aged bool
	// reused says that an earlier exchange has used the connection.
	reused bool
	// gone says that the endpoint has closed the connection, or sent the end of what it sends.
	gone atomic.Bool
	// ticket is the connection's in the watch; 0 when it is not there.
	ticket uint64

	// exchanges counts those that have given way or might have, luck how often that was of use of late; gave says that
	// it is not known yet.
	exchanges  uint
	yieldScore int
	yielded    bool

	// waiting is called before the connection waits for bytes; it may be nil.
	waiting func()

	// smallBuf, mediumBuf or largeBuf is the recycled memory of buffer, unless that has outgrown it. want is how much
	// is read at a time.
	small  *smallBuf
	medium *mediumBuf
	large  *largeBuf
	want   int64
	buffer []byte
	// from and to delimit what has been read into the buffer and not used.
	from, to int
}

// unread returns the bytes that have been read ahead. They are good until the next read.
func (cc *clientConn) unread() []byte { return cc.buffer[cc.from:cc.to] }

// skip drops n bytes of unread.
func (cc *clientConn) skip(n int) {
	if cc.from += n; cc.from == cc.to {
		cc.from, cc.to = 0, 0
	}
}

// fill reads more into the buffer, once; room must be there.
func (cc *clientConn) fill() error {
	if cc.buffer != nil && cc.from > 0 && cc.to == len(cc.buffer) {
		cc.to = copy(cc.buffer, cc.unread())
		cc.from = 0
	}
	var n int
	var err error
	if cc.tcp != nil && cc.probe != nil {
		n, err = cc.probe.fill(cc)
	} else {
		if cc.buffer == nil {
			cc.borrow()
		}
		if cc.waiting != nil {
			cc.waiting()
		}
		n, err = cc.conn.Read(cc.buffer[cc.to:])
	}
	cc.to += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// borrow takes memory for the buffer.
func (cc *clientConn) borrow() {
	pool := &cc.upstream.resources.buffers
	switch {
	case cc.want > copyBytes:
		cc.large = pool.large()
		cc.buffer = cc.large[:]
	case cc.want > clientBytes:
		cc.medium = pool.medium()
		cc.buffer = cc.medium[:]
	default:
		cc.small = pool.small()
		cc.buffer = cc.small[:]
	}
}

// widen sets about how much is read at a time from now on. The buffer must be empty.
func (cc *clientConn) widen(bytes int64) {
	if cc.want = bytes; cc.buffer != nil && int64(len(cc.buffer)) < min(bytes, largeBufBytes) {
		cc.recycle()
	}
}

const (
	// minYieldScore is how often giving way has to be of no use until it is given up, and yieldRetry after how many
	// exchanges it is tried again.
	minYieldScore = -8
	yieldRetry    = 64
)

// yield runs other goroutines that are ready, once the request is written. A near endpoint has often answered by then,
// which saves waiting for the connection. Whether that pays is measured.
func (cc *clientConn) yield() {
	if cc.exchanges++; cc.yieldScore > minYieldScore || cc.exchanges%yieldRetry == 0 {
		cc.yielded = true
		runtime.Gosched()
	}
}

// learn notes whether the response had arrived at the first read.
func (cc *clientConn) learn(there bool) {
	if !cc.yielded {
		return
	}
	cc.yielded = false
	if there {
		cc.yieldScore = min(cc.yieldScore+1, -minYieldScore)
	} else {
		cc.yieldScore = max(cc.yieldScore-1, minYieldScore)
	}
}

// grow makes room for at most limit unread bytes; it is false when there is that much already.
func (cc *clientConn) grow(limit int) bool {
	if cc.buffer == nil || cc.to-cc.from < len(cc.buffer) {
		return true
	}
	if len(cc.buffer) >= limit {
		return false
	}
	grown := make([]byte, min(2*len(cc.buffer), limit))
	cc.to = copy(grown, cc.unread())
	cc.from = 0
	cc.release()
	cc.buffer = grown
	return true
}

// read reads into p, past the buffer where that is empty.
func (cc *clientConn) read(p []byte) (int, error) {
	if cc.from == cc.to {
		return cc.conn.Read(p)
	}
	n := copy(p, cc.unread())
	cc.skip(n)
	return n, nil
}

func (cc *clientConn) release() {
	pool := &cc.upstream.resources.buffers
	pool.putSmall(cc.small)
	pool.putMedium(cc.medium)
	pool.putLarge(cc.large)
	cc.small, cc.medium, cc.large = nil, nil, nil
}

// recycle gives the buffer back. What was in it is lost.
func (cc *clientConn) recycle() {
	cc.release()
	cc.buffer, cc.from, cc.to = nil, 0, 0
}

// quiet reports whether an idle connection is still as its last response left it: open, and without an unrequested
// byte (RFC 9112 section 9.2: what comes between responses belongs to no request).
func (cc *clientConn) quiet() bool {
	if cc.gone.Load() {
		return false
	}
	if cc.probe == nil {
		return true
	}
	if cc.tls == nil {
		return cc.probe.quiet()
	}
	// TLS may have kept bytes back, and may have messages of its own to read: session tickets, a new key.
	secure := cc.conn
	var one [1]byte
	cc.probe.only = true
	n, err := secure.Read(one[:])
	cc.probe.only = false
	return n == 0 && errors.Is(err, errNothingYet) && cc.probe.records.between()
}

// watch has PeerClosed called when the endpoint closes the connection. Where the system refuses, the connection is
// still looked at before it is used.
func (cc *clientConn) watch() {
	if cc.ticket == 0 && cc.raw != nil {
		cc.ticket, _ = cc.upstream.resources.watch.Add(cc.raw, cc)
	}
}

func (cc *clientConn) unwatch() {
	cc.upstream.resources.watch.Remove(cc.ticket)
	cc.ticket = 0
}

// close closes the connection for good. It is for the owner.
func (cc *clientConn) close() {
	cc.upstream.forget(cc)
	cc.unwatch()
	if cc.gone.Load() {
		// The other end has closed already.
		_ = cc.bottom.Close()
	} else {
		_ = cc.conn.Close()
	}
	cc.recycle()
}

// clientBytes is the size of a smallBuf.
const clientBytes = 4 << 10

// copyBytes is the size of the buffers that bodies are copied through.
const copyBytes = 32 << 10

// largeBufBytes is the size of the buffers for bodies that fit into one and into no smaller, with the answer of one
// system call.
const largeBufBytes = 64 << 10

type (
	smallBuf  [clientBytes]byte
	mediumBuf [copyBytes]byte
	largeBuf  [largeBufBytes]byte
)

// newClientConn wraps a connection that has been made just now.
func newClientConn(u *Upstream, bottom net.Conn) *clientConn {
	cc := &clientConn{upstream: u, conn: bottom, bottom: bottom}
	cc.abort = func() { _ = bottom.Close() }
	cc.tcp, _ = bottom.(*net.TCPConn)
	if described, ok := bottom.(syscall.Conn); ok {
		if raw, err := described.SyscallConn(); err == nil {
			cc.raw, cc.probe = raw, newProbe(bottom, raw)
		}
	}
	return cc
}

// secure puts TLS on top of the connection.
func (cc *clientConn) secure(config *tls.Config) *tls.Conn {
	cc.tcp = nil
	var below net.Conn = cc.bottom
	if cc.probe != nil {
		cc.probe.records = new(records)
		below = cc.probe
	}
	secure := tls.Client(below, config)
	cc.conn = secure
	return secure
}
