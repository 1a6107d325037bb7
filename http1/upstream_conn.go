package http1

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
	// reused says that an earlier exchange has used the connection.
	reused bool
	// gone says that the endpoint has closed the connection, or sent the end of what it sends.
	gone atomic.Bool
	// watched is the connection's number in the watch; 0 when it is not there. It belongs to the watch.
	watched uint64

	// exchanges counts those that have given way or might have, luck how often that was of use of late; gave says that
	// it is not known yet.
	exchanges  uint
	yieldScore int
	yielded    bool

	// waiting is called before the connection waits for bytes; it may be nil.
	waiting func()

	// smallBuf, mediumBuf or largeBuf is the recycled memory of buffer, unless that has outgrown it. want is how much
	// shall be read at a time.
	small  *smallBuf
	medium *mediumBuf
	large  *largeBuf
	want   int64
	buffer []byte
	// from and to delimit what has been read into the buffer and not used.
	from, to int
}

// unread returns the bytes that have been read ahead. They are good until the next read.
func (l *clientConn) unread() []byte { return l.buffer[l.from:l.to] }

// skip forgets n bytes of unread.
func (l *clientConn) skip(n int) {
	if l.from += n; l.from == l.to {
		l.from, l.to = 0, 0
	}
}

// fill reads more into the buffer, once; room must be there.
func (l *clientConn) fill() error {
	if l.buffer != nil && l.from > 0 && l.to == len(l.buffer) {
		l.to = copy(l.buffer, l.unread())
		l.from = 0
	}
	var n int
	var err error
	if l.tcp != nil && l.probe != nil {
		n, err = l.probe.fill(l)
	} else {
		if l.buffer == nil {
			l.borrow()
		}
		if l.waiting != nil {
			l.waiting()
		}
		n, err = l.conn.Read(l.buffer[l.to:])
	}
	l.to += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// borrow takes memory for the buffer.
func (l *clientConn) borrow() {
	pool := &l.upstream.client.buffers
	switch {
	case l.want > copyBytes:
		l.large = pool.large()
		l.buffer = l.large[:]
	case l.want > clientBytes:
		l.medium = pool.medium()
		l.buffer = l.medium[:]
	default:
		l.small = pool.small()
		l.buffer = l.small[:]
	}
}

// widen sees to it that about so much is read at a time from now on. The buffer must be empty.
func (l *clientConn) widen(bytes int64) {
	if l.want = bytes; l.buffer != nil && int64(len(l.buffer)) < min(bytes, largeBufBytes) {
		l.recycle()
	}
}

const (
	// minYieldScore is how often giving way has to be of no use until it is given up, and yieldRetry after how many
	// exchanges it is tried again.
	minYieldScore = -8
	yieldRetry    = 64
)

// yield lets others run that are ready, once the request is written. An endpoint that is near has answered by then,
// which spares a wait in vain with all that belongs to it. Whether it does is learned.
func (l *clientConn) yield() {
	if l.exchanges++; l.yieldScore > minYieldScore || l.exchanges%yieldRetry == 0 {
		l.yielded = true
		runtime.Gosched()
	}
}

// learn notes whether the response was there when it was first asked for.
func (l *clientConn) learn(there bool) {
	if !l.yielded {
		return
	}
	l.yielded = false
	if there {
		l.yieldScore = min(l.yieldScore+1, -minYieldScore)
	} else {
		l.yieldScore = max(l.yieldScore-1, minYieldScore)
	}
}

// grow makes room for at most limit unread bytes; it is false when there is that much already.
func (l *clientConn) grow(limit int) bool {
	if l.buffer == nil || l.to-l.from < len(l.buffer) {
		return true
	}
	if len(l.buffer) >= limit {
		return false
	}
	grown := make([]byte, min(2*len(l.buffer), limit))
	l.to = copy(grown, l.unread())
	l.from = 0
	l.release()
	l.buffer = grown
	return true
}

// read reads into p, past the buffer where that is empty.
func (l *clientConn) read(p []byte) (int, error) {
	if l.from == l.to {
		return l.conn.Read(p)
	}
	n := copy(p, l.unread())
	l.skip(n)
	return n, nil
}

func (l *clientConn) release() {
	pool := &l.upstream.client.buffers
	pool.putSmall(l.small)
	pool.putMedium(l.medium)
	pool.putLarge(l.large)
	l.small, l.medium, l.large = nil, nil, nil
}

// recycle gives the buffer back. What was in it is lost.
func (l *clientConn) recycle() {
	l.release()
	l.buffer, l.from, l.to = nil, 0, 0
}

// quiet reports whether an idle connection is still as its last response left it: open, and without an unrequested
// byte (RFC 9112 section 9.2: what comes between responses belongs to no request).
func (l *clientConn) quiet() bool {
	if l.gone.Load() {
		return false
	}
	if l.probe == nil {
		return true
	}
	if l.tls == nil {
		return l.probe.quiet()
	}
	// TLS may have kept bytes back, and may have messages of its own to read: session tickets, a new key.
	secure := l.conn
	var one [1]byte
	l.probe.only = true
	n, err := secure.Read(one[:])
	l.probe.only = false
	return n == 0 && errors.Is(err, errNothingYet) && l.probe.records.between()
}

// close closes the connection for good. It is for the owner.
func (l *clientConn) close() {
	l.upstream.forget(l)
	l.upstream.client.watch.remove(l)
	if l.gone.Load() {
		// The other end has closed already.
		_ = l.bottom.Close()
	} else {
		_ = l.conn.Close()
	}
	l.recycle()
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
	l := &clientConn{upstream: u, conn: bottom, bottom: bottom, born: u.clock()}
	l.abort = func() { _ = bottom.Close() }
	l.tcp, _ = bottom.(*net.TCPConn)
	if described, ok := bottom.(syscall.Conn); ok {
		if raw, err := described.SyscallConn(); err == nil {
			l.raw, l.probe = raw, newProbe(bottom, raw)
		}
	}
	return l
}

// secure puts TLS on top of the connection.
func (l *clientConn) secure(config *tls.Config) *tls.Conn {
	l.tcp = nil
	var below net.Conn = l.bottom
	if l.probe != nil {
		l.probe.records = new(records)
		below = l.probe
	}
	secure := tls.Client(below, config)
	l.conn = secure
	return secure
}
