package client

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/http2/buffer"
	"github.com/sluiceproxy/sluice/http2/flood"
	"github.com/sluiceproxy/sluice/http2/wire"
)

const (
	// connWindow is what an endpoint may have on its way over a connection. It is no bound on memory, which the windows
	// of streams are: a client that does not read its response must not stop the others.
	connWindow = 1 << 30
	// connCredit is how much of it is given back at a time.
	connCredit = 1 << 20
)

// clientConn is one connection. The fields of its first part belong to the goroutine that reads.
type clientConn struct {
	upstream *Upstream
	rwc      net.Conn
	secure   *tls.ConnectionState

	// in[at:end] is what has been read and not used. readBuf is what in is made of, or nil while nothing is there.
	in      []byte
	at, end int
	readBuf *buffer.Read
	// first is read while a connection without readBuf waits.
	first [1]byte

	// indexed is memory for wire.Unpin.
	indexed [1]byte

	decoder *hpack.Decoder
	block   block
	data    incoming
	flood   flood.Bucket
	opened  bool

	// reads counts what was read. lastRead is the time of the last one, by the clock of the upstream, where
	// ReadIdleTimeout needs it.
	reads    atomic.Uint64
	lastRead atomic.Int64
	// answered counts responses and DATA.
	answered atomic.Int64

	// mutex guards what follows, and the states of streams.
	mutex   sync.Mutex
	streams map[uint32]*RoundTrip
	// nextID is the identifier of the next stream, reserved how many streams are promised to requests, limit how many the
	// endpoint allows.
	nextID          uint32
	reserved, limit int
	// used says that a response came over the connection.
	used bool
	// woken are the requests that go on once all that was read has been handled.
	woken []*RoundTrip
	out   queue
	// sendWindow is how much the endpoint accepts on the connection, initialWindow on new streams, maxFrame in one frame,
	// maxHead in a head.
	sendWindow, initialWindow int64
	maxFrame                  int
	maxHead                   int64
	// credit is what has been used of the window of the connection and not given back.
	credit int64
	// tableUpdate says that the next head must begin by an update of the size of the dynamic table.
	tableUpdate bool
	life        life
}

func newConn(u *Upstream, conn net.Conn, limit int) *clientConn {
	c := &clientConn{
		upstream: u, rwc: conn, streams: make(map[uint32]*RoundTrip), nextID: 1, limit: limit,
		sendWindow: wire.DefaultWindow, initialWindow: wire.DefaultWindow, maxFrame: wire.MinMaxFrame,
		maxHead: wire.MaxWindow,
	}
	if secure, ok := conn.(*tls.Conn); ok {
		state := secure.ConnectionState()
		c.secure = &state
	}
	c.decoder = hpack.NewDecoder(tableSize, c.block.field)
	c.decoder.SetMaxStringLength(u.config.MaxHeaderBytes)
	c.block.conn = c
	c.flood.Earned = func() int { return int(c.answered.Swap(0)) }
	c.flood.Begin(time.Now())
	c.out.init(c)
	c.life.idle = u.clock()
	c.lastRead.Store(int64(c.life.idle))
	return c
}

// clock is a monotonic time, which costs half of time.Now.
func (u *Upstream) clock() time.Duration { return time.Since(u.start) }

// tableSize is the size of the table of HPACK for responses, the default (RFC 9113, section 6.5.2).
const tableSize = 4096

// begin sends the preface and starts to read.
func (c *clientConn) begin() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	b := append(c.out.room(), wire.Preface...)
	b = wire.AppendSettings(
		b,
		wire.Setting{ID: wire.EnablePush, Value: 0},
		wire.Setting{ID: wire.InitialWindowSize, Value: streamWindow},
		wire.Setting{ID: wire.MaxHeaderListSize, Value: uint32(c.upstream.config.MaxHeaderBytes)}, //nolint:gosec // above 0
	)
	c.out.set(wire.AppendWindowUpdate(b, 0, connWindow-wire.DefaultWindow))
	c.watch()
	go c.serve()
}

// serve reads until the connection ends.
func (c *clientConn) serve() {
	var err error
	for err == nil {
		err = c.next()
	}
	c.shut(err)
	c.upstream.remove(c)
	if c.readBuf != nil {
		c.upstream.resources.pools.PutRead(c.readBuf)
		c.readBuf, c.in = nil, nil
	}
}

// reserve promises a stream to a request, where the connection has one, and the endpoint reads what is sent.
func (c *clientConn) reserve() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.life.retired || c.life.err != nil || len(c.streams)+c.reserved >= c.limit || c.suspect() ||
		c.out.size() > maxControl {
		return false
	}
	c.reserved++
	return true
}

// release takes a promise back.
func (c *clientConn) release() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.reserved--
	c.rest()
}

// need reads until so many bytes are there.
func (c *clientConn) need(n int) error {
	for c.end-c.at < n {
		if err := c.fill(); err != nil {
			return err
		}
	}
	return nil
}

// fill reads once. Before it waits, the requests go on for which something has come, and what is to be sent is written.
func (c *clientConn) fill() error {
	if c.settle() {
		c.at, c.end = 0, 0
		if c.readBuf != nil {
			if !c.block.open {
				wire.Unpin(c.decoder, &c.indexed)
			}
			c.upstream.resources.pools.PutRead(c.readBuf)
			c.readBuf, c.in = nil, nil
		}
	}
	if c.readBuf == nil {
		// The first byte of a connection without requests is waited for without a buffer.
		n, err := c.rwc.Read(c.first[:])
		if n > 0 {
			c.room()
			c.in[0], c.end = c.first[0], 1
		}
		return c.heard(n, err)
	}
	c.room()
	n, err := c.rwc.Read(c.in[c.end:])
	c.end += n
	return c.heard(n, err)
}

// settle ends the handling of what was read. It reports whether the connection has no requests and nothing is left, so
// that it may wait for long.
func (c *clientConn) settle() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.wake()
	c.out.start()
	for c.out.size() > maxControl && c.out.err == nil {
		c.out.written.Wait()
	}
	return c.at == c.end && len(c.streams) == 0 && c.reserved == 0
}

// wake has the requests go on for which something has come. The mutex is held.
func (c *clientConn) wake() {
	for i, rt := range c.woken {
		rt.waking = false
		rt.changed.Signal()
		c.woken[i] = nil
	}
	c.woken = c.woken[:0]
}

// room makes room for at least one frame of the largest size behind what has not been used.
func (c *clientConn) room() {
	if c.readBuf == nil {
		c.readBuf = c.upstream.resources.pools.Read()
		c.in = c.readBuf[:]
	}
	if c.at == c.end {
		c.at, c.end = 0, 0
	}
	if c.at > 0 && c.end > buffer.ReadBytes/2 {
		c.end = copy(c.in, c.in[c.at:c.end])
		c.at = 0
	}
}

// heard notes that bytes have come, or returns why none will come.
func (c *clientConn) heard(n int, err error) error {
	if n > 0 {
		if c.upstream.config.ReadIdleTimeout > 0 {
			c.lastRead.Store(int64(c.upstream.clock()))
		}
		c.reads.Add(1)
		return nil
	}
	if err == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		return io.ErrUnexpectedEOF
	}
	return err
}

// shut ends the connection, and with it all streams.
func (c *clientConn) shut(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.shutLocked(err)
}

// shutLocked is shut. The mutex is held.
func (c *clientConn) shutLocked(err error) {
	if c.life.err != nil {
		return
	}
	c.life.err = err
	if c.life.timer != nil {
		c.life.timer.Stop()
	}
	if fault, ok := errors.AsType[*wire.Error](err); ok && c.out.err == nil {
		c.out.set(wire.AppendGoAway(c.out.room(), 0, fault.Code))
	}
	for id, rt := range c.streams {
		delete(c.streams, id)
		rt.fail(lost(err))
	}
	c.wake()
	c.out.end(err)
}

// lost returns what a request gets whose connection has ended.
func lost(err error) error {
	if err == errUpstreamClosed || err == errNoPong { //nolint:errorlint // They are not wrapped.
		return err
	}
	return &lostError{err}
}

// forget takes a stream off the list that has ended in both directions, or was reset. The mutex is held.
func (c *clientConn) forget(rt *RoundTrip) {
	if c.streams[rt.id] != rt {
		return
	}
	delete(c.streams, rt.id)
	c.rest()
}

// rest looks after a connection that may have no more requests. The mutex is held.
func (c *clientConn) rest() {
	if len(c.streams) > 0 || c.reserved > 0 {
		return
	}
	switch {
	case c.life.retired:
		c.shutLocked(errRetired)
		return
	case c.limit == 0:
		c.leave(errNoStreams) // It would be kept for nothing, besides those that are made for requests.
		return
	}
	c.life.idle = c.upstream.clock()
	c.watch()
}

// closeIdle closes the connection if no request uses it.
func (c *clientConn) closeIdle() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.streams) == 0 && c.reserved == 0 {
		c.leave(errIdle)
	}
}

// leave ends a connection without streams. The mutex is held.
func (c *clientConn) leave(err error) {
	if c.life.err == nil && c.out.err == nil {
		c.out.set(wire.AppendGoAway(c.out.room(), 0, wire.NoError))
		c.shutLocked(err)
	}
}

// unwake takes a request off those that go on: its memory is about to be used again. The mutex is held.
func (c *clientConn) unwake(rt *RoundTrip) {
	if !rt.waking {
		return
	}
	rt.waking = false
	if at := slices.Index(c.woken, rt); at >= 0 {
		c.woken = slices.Delete(c.woken, at, at+1)
	}
}

// giveCredit gives back what has been used of the window of the connection, once it is worth a frame. The mutex is
// held.
func (c *clientConn) giveCredit() {
	if c.credit < connCredit || c.out.err != nil {
		return
	}
	c.out.set(wire.AppendWindowUpdate(c.out.room(), 0, int32(c.credit))) //nolint:gosec // below the window
	c.credit = 0
}

// close closes the connection. The mutex is held, and TLS may take some time for its last record.
func (c *clientConn) close() {
	if c.secure != nil {
		go c.rwc.Close() //nolint:errcheck // The connection has ended.
		return
	}
	_ = c.rwc.Close()
}
