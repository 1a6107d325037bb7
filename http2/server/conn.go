package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/http2/buffer"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/heads"
)

const (
	// streamWindow is SETTINGS_INITIAL_WINDOW_SIZE. minWindow is what any connection may have on its way in all, and
	// connWindow that to which it grows while Server.MaxWindowBytes allows.
	streamWindow = 256 << 10
	minWindow    = wire.DefaultWindow
	connWindow   = 1 << 20
	// defaultTableSize is the size of the table of HPACK without a setting (section 6.5.2).
	defaultTableSize = 4096
	// pingAfter is how long a client may be silent before it is sent PING, pingTimeout how long it may take to answer,
	// and writeTimeout how long to accept any byte that is ready to be sent.
	pingAfter, pingTimeout, writeTimeout = time.Minute, 30 * time.Second, time.Minute
)

// serverConn is one connection that is being served. The fields of its first part belong to the goroutine that reads.
type serverConn struct {
	server *Server
	base   context.Context //nolint:containedctx // It is what the contexts of requests are made of.
	rwc    net.Conn
	secure *tls.ConnectionState
	remote string
	local  net.Addr

	// in[at:end] is what has been read and not used. readBuf is what in is made of, or nil while nothing is there.
	in      []byte
	at, end int
	readBuf *buffer.Read
	ahead   []byte
	// first is read while a connection without readBuf waits.
	first [1]byte
	// indexed is a field of the static table, for unpin.
	indexed [1]byte

	decoder *hpack.Decoder
	// ready are the requests whose handlers are to be started.
	ready []*exchange
	block block
	data  incoming
	flood bucket
	// cause is what the error is about that ends the connection, if there is more to say than its code.
	cause Cause

	// heads is what the decoded heads of the connection hold.
	heads *heads.Account
	start time.Time

	// mutex guards what follows, and the states of streams.
	mutex   sync.Mutex
	streams map[uint32]*exchange
	// lastStream is the highest stream that the client has opened. The reader alone changes it.
	lastStream uint32
	// running counts handlers, also those of streams that are no longer in streams.
	running int
	idle    time.Time // since when there is no stream
	out     outQueue
	// sendWindow is how much the client accepts on the connection, initialWindow on new streams, maxFrame in one frame.
	sendWindow    int64
	initialWindow int64
	maxFrame      int
	// recvWindow is what the client may still send, credit what has been used of that and not given back. window is both,
	// and what waits to be read.
	recvWindow, credit, window int64
	// tableUpdate says that the next head must begin by an update of the size of the dynamic table.
	tableUpdate bool
	// reset holds the last streams that this side has reset, of which frames may be on their way.
	reset ring
	life  life
	// armed is the read deadline that is set, since start; 0 where none is.
	armed time.Duration
}

func newServerConn(ctx context.Context, s *Server, conn net.Conn) *serverConn {
	c := &serverConn{
		server: s, base: ctx, rwc: conn, local: conn.LocalAddr(), start: time.Now(),
		streams:    map[uint32]*exchange{},
		sendWindow: wire.DefaultWindow, initialWindow: wire.DefaultWindow, maxFrame: wire.MinMaxFrame, recvWindow: minWindow,
		window: minWindow,
	}
	c.idle = c.start
	c.out.init(c)
	c.flood.init(c)
	c.heads = s.heads.Account(func() {
		c.fail(CauseHeaderList, wire.Fault(wire.EnhanceYourCalm, "the heads of all requests take too much memory"))
	})
	if remote := conn.RemoteAddr(); remote != nil {
		c.remote = remote.String()
	}
	if secure, ok := conn.(*tls.Conn); ok {
		state := secure.ConnectionState()
		c.secure = &state
	}
	if r, ok := conn.(httpio.ReadAheader); ok {
		c.ahead = r.ReadAhead()
	}
	c.decoder = hpack.NewDecoder(uint32(s.tableSize()), c.block.field) //nolint:gosec // above 0
	c.decoder.SetMaxStringLength(s.maxHeaderBytes())
	c.block.conn = c
	return c
}

// serve reads frames until the connection ends.
func (c *serverConn) serve() {
	stop := func() bool { return true }
	if c.base.Done() != nil {
		stop = context.AfterFunc(c.base, func() { _ = httpio.Bottom(c.rwc).Close() })
	}
	err := c.open()
	for err == nil {
		err = c.next()
	}
	stop()
	c.finish(err)
}

// open reads the preface, and sends SETTINGS.
func (c *serverConn) open() error {
	if timeout := c.server.OpeningTimeout; timeout > 0 {
		if err := c.rwc.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
	}
	c.mutex.Lock()
	settings := []wire.Setting{
		{ID: wire.HeaderTableSize, Value: uint32(c.server.tableSize())},       //nolint:gosec // above 0
		{ID: wire.MaxConcurrentStreams, Value: uint32(c.server.maxStreams())}, //nolint:gosec // above 0
		{ID: wire.InitialWindowSize, Value: streamWindow},
		{ID: wire.MaxHeaderListSize, Value: uint32(c.server.maxHeaderBytes())}, //nolint:gosec // above 0
		{ID: wire.NoRFC7540Priorities, Value: 1},
	}
	if c.server.ExtendedConnect {
		settings = append(settings, wire.Setting{ID: wire.EnableConnectProtocol, Value: 1})
	}
	c.out.set(wire.AppendSettings(c.out.room(), settings...))
	c.life.greeted = true
	if c.server.draining.Load() {
		c.retireLocked()
	}
	c.mutex.Unlock()
	if err := c.need(len(wire.Preface)); err != nil {
		return err
	}
	if string(c.in[c.at:c.at+len(wire.Preface)]) != wire.Preface {
		return wire.Fault(wire.ProtocolError, "not the preface of HTTP/2 (section 3.4)")
	}
	c.at += len(wire.Preface)
	if err := c.need(wire.HeaderBytes); err != nil {
		return err
	}
	if h := wire.ReadHeader(c.in[c.at:]); h.Type != wire.Settings || h.Flags.Has(wire.Ack) {
		return wire.Fault(wire.ProtocolError, "no SETTINGS behind the preface (section 3.4)")
	}
	c.mutex.Lock()
	c.life.opened = true
	c.mutex.Unlock()
	return c.heard()
}

// need reads until so many bytes are there.
func (c *serverConn) need(n int) error {
	for c.end-c.at < n {
		if err := c.fill(); err != nil {
			return err
		}
	}
	return nil
}

// fill reads once. Before it waits, it starts handlers, and has what is to be sent written.
func (c *serverConn) fill() error {
	c.startReady()
	if len(c.ahead) > 0 {
		c.room()
		n := copy(c.in[c.end:], c.ahead)
		c.end, c.ahead = c.end+n, c.ahead[n:]
		return nil
	}
	c.ahead = nil
	c.out.kick()
	if c.at == c.end {
		c.at, c.end = 0, 0
		// Below TLS the first byte brings the rest of its record, so that reading it costs no system call.
		if c.readBuf != nil && (c.secure != nil || c.quiet()) {
			c.unpin()
			c.server.pool.PutRead(c.readBuf)
			c.readBuf, c.in = nil, nil
		}
	}
	if c.readBuf == nil {
		n, err := c.rwc.Read(c.first[:])
		if n > 0 {
			c.room()
			c.in[0], c.end = c.first[0], 1
		}
		return c.readError(n, err)
	}
	c.room()
	n, err := c.rwc.Read(c.in[c.end:])
	c.end += n
	return c.readError(n, err)
}

// unpin has the decoder not refer to the read buffer.
func (c *serverConn) unpin() {
	if c.block.open {
		return
	}
	wire.Unpin(c.decoder, &c.indexed)
}

// quiet reports whether the connection has no streams, so that it may wait for long.
func (c *serverConn) quiet() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.streams) == 0
}

// room makes room for at least one frame of the largest size behind what has not been used.
func (c *serverConn) room() {
	if c.readBuf == nil {
		c.readBuf = c.server.pool.Read()
		c.in = c.readBuf[:]
	}
	if c.at > 0 && c.end > buffer.ReadBytes/2 {
		c.end = copy(c.in, c.in[c.at:c.end])
		c.at = 0
	}
}

// readError returns why reading has failed. The deadline that is set may only be when to look at the clock.
func (c *serverConn) readError(n int, err error) error {
	switch {
	case n > 0:
		return c.heard()
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.tick()
	}
	return err
}

// finish ends the connection, and with it all streams.
func (c *serverConn) finish(err error) {
	c.startReady()
	var fault *wire.Error
	errors.As(err, &fault)
	if report := c.server.Failed; report != nil {
		if why := c.failure(err); why.Cause != CauseNone {
			report(c.rwc, why)
		}
	}
	c.mutex.Lock()
	if fault != nil && c.out.err == nil {
		last := c.lastStream
		if c.life.retired {
			last = min(last, c.life.last) // It must not rise (section 6.8).
		}
		c.out.set(wire.AppendGoAway(c.out.room(), last, fault.Code))
	}
	c.life.over = true
	for _, x := range c.streams {
		x.abort(errGone)
	}
	clear(c.streams)
	c.server.windows.Add(minWindow - c.window)
	c.window = minWindow
	c.out.last()
	c.mutex.Unlock()
	if fault != nil || err == errOver { //nolint:errorlint // It is not wrapped.
		c.linger()
	}
	_ = c.rwc.Close()
	c.mutex.Lock()
	c.out.fail(net.ErrClosed)
	c.mutex.Unlock()
	if c.readBuf != nil {
		c.server.pool.PutRead(c.readBuf)
		c.readBuf, c.in = nil, nil
	}
}

const (
	// lingerTime and lingerBytes bound how long, and how much of, a connection is read after GOAWAY, so that a reset does
	// not take the frame away.
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// linger ends the sending side, and reads what is on its way.
func (c *serverConn) linger() {
	half, ok := c.rwc.(httpio.HalfCloser)
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.rwc.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.rwc, lingerBytes)
	}
}

// ring holds the last identifiers of streams that were added.
type ring struct {
	ids [256]uint32
	at  int
}

func (r *ring) add(id uint32) {
	r.ids[r.at] = id
	r.at = (r.at + 1) % len(r.ids)
}

func (r *ring) has(id uint32) bool {
	for _, one := range r.ids {
		if one == id {
			return true
		}
	}
	return false
}
