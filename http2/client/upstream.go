package client

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultMaxHeader bounds the head of a response where the configuration doesn't, in bytes.
	defaultMaxHeader = 1 << 20
	// defaultPingTimeout is how long an answer to PING may take where the configuration has no time.
	defaultPingTimeout = 15 * time.Second
	// assumedStreams is how many streams an endpoint is taken to allow before its SETTINGS.
	assumedStreams = 100
)

// Config says how to speak to an upstream.
type Config struct {
	// Dial makes a connection on which HTTP/2 is spoken, plain or with TLS that has agreed on it, within a time that it
	// limits itself. Its context ends when no request waits for the connection. It is required.
	Dial func(ctx context.Context) (net.Conn, error)
	// IdleTimeout closes connections that had no request for so long; 0 never does.
	IdleTimeout time.Duration
	// ResponseHeaderTimeout bounds the wait for the head of the response once the whole request is sent; 0 does not.
	ResponseHeaderTimeout time.Duration
	// ContinueTimeout is how long a request with "Expect: 100-continue" waits for the answer to that before it sends
	// its body all the same; 0 doesn't wait.
	ContinueTimeout time.Duration
	// ReadIdleTimeout is how long an endpoint may send nothing until it is sent PING; 0 sends none.
	ReadIdleTimeout time.Duration
	// PingTimeout is how long the answer to PING may take; 0 stands for 15 s.
	PingTimeout time.Duration
	// MaxHeaderBytes bounds the head of a response as HTTP/2 counts it (RFC 9113, section 10.5.1); 0 stands for 1 MiB.
	MaxHeaderBytes int
}

// Resources are what upstreams may share: recycled buffers, and the memory of windows. The zero value is ready, must
// not be copied, and needs no closing.
type Resources struct {
	pools   pools
	windows windows
}

// NewUpstream returns the connections to one upstream. It dials nothing yet.
func (r *Resources) NewUpstream(config *Config) *Upstream {
	u := &Upstream{resources: r, config: *config, start: time.Now(), limit: assumedStreams}
	if u.config.MaxHeaderBytes <= 0 {
		u.config.MaxHeaderBytes = defaultMaxHeader
	}
	if u.config.PingTimeout <= 0 {
		u.config.PingTimeout = defaultPingTimeout
	}
	u.conns.Store(new([]*clientConn))
	return u
}

// Upstream sends requests to one endpoint. All methods may be called by many goroutines at a time.
type Upstream struct {
	resources *Resources
	config    Config
	start     time.Time
	// conns are the connections. A change makes a new slice.
	conns atomic.Pointer[[]*clientConn]

	// mutex guards what follows, and changes of conns. It is taken before that of a connection.
	mutex sync.Mutex
	// dials are the connections that are being made, dialing the one for which more requests may wait, or nil.
	dials   map[*dialing]struct{}
	dialing *dialing
	// limit is how many streams the endpoint has allowed last.
	limit  int
	closed bool
}

// dialing is a connection that is being made, for which requests wait.
type dialing struct {
	done   chan struct{}
	cancel context.CancelFunc
	// waiting is how many requests wait. The mutex of the upstream guards it until done is closed.
	waiting int
	// conn has a stream for each of them, unless err says why there is none. They are set before done is closed.
	conn *clientConn
	err  error
}

// RoundTrip implements http.RoundTripper for callers that have no RoundTrip.
func (u *Upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.Do(new(RoundTrip), r)
}

// reserve returns a connection that has a stream for a request.
func (u *Upstream) reserve(ctx context.Context) (*clientConn, error) {
	for _, c := range *u.conns.Load() {
		if c.reserve() {
			return c, nil
		}
	}
	c, d, err := u.join(ctx)
	if d == nil {
		return c, err
	}
	return u.await(ctx, d)
}

// join returns a connection that has come meanwhile, or one that is being made.
func (u *Upstream) join(ctx context.Context) (*clientConn, *dialing, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.closed {
		return nil, nil, errUpstreamClosed
	}
	for _, c := range *u.conns.Load() {
		if c.reserve() {
			return c, nil, nil
		}
	}
	d := u.dialing
	if d == nil || d.waiting >= u.limit {
		d = &dialing{done: make(chan struct{})}
		var background context.Context
		background, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
		u.dialing = d
		if u.dials == nil {
			u.dials = make(map[*dialing]struct{})
		}
		u.dials[d] = struct{}{}
		go u.dial(background, d)
	}
	d.waiting++
	return nil, d, nil
}

// await waits for a connection that is being made.
func (u *Upstream) await(ctx context.Context, d *dialing) (*clientConn, error) {
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch d.waiting--; {
	case d.conn != nil:
		d.conn.release()
	case d.waiting == 0:
		d.cancel()
		if u.dialing == d {
			u.dialing = nil
		}
	}
	return nil, context.Cause(ctx)
}

// dial makes a connection. The requests that wait for it get their streams before any other can.
func (u *Upstream) dial(ctx context.Context, d *dialing) {
	defer close(d.done)
	defer d.cancel()
	conn, err := u.config.Dial(ctx)
	u.mutex.Lock()
	delete(u.dials, d)
	if u.dialing == d {
		u.dialing = nil
	}
	switch {
	case u.closed:
		d.err = errUpstreamClosed
	case err != nil:
		d.err = err
	default:
		d.conn = u.add(conn, d.waiting)
	}
	u.mutex.Unlock()
	if d.conn == nil && err == nil {
		_ = conn.Close() // Nothing was sent over it.
	}
}

// Add takes a connection over that was made elsewhere and has agreed on HTTP/2. It closes the connection in the end,
// and at once when the upstream is closed.
func (u *Upstream) Add(conn net.Conn) error {
	u.mutex.Lock()
	closed := u.closed
	if !closed {
		u.add(conn, 0)
	}
	u.mutex.Unlock()
	if closed {
		_ = conn.Close() // Nothing was sent over it.
		return errUpstreamClosed
	}
	return nil
}

// add begins a connection with so many streams reserved. The mutex is held.
func (u *Upstream) add(conn net.Conn, reserved int) *clientConn {
	c := newConn(u, conn, u.limit)
	c.reserved = reserved
	conns := append(slices.Clone(*u.conns.Load()), c)
	u.conns.Store(&conns)
	c.begin()
	return c
}

// remove takes a connection off the list.
func (u *Upstream) remove(c *clientConn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	conns := slices.Clone(*u.conns.Load())
	if at := slices.Index(conns, c); at >= 0 {
		conns = slices.Delete(conns, at, at+1)
		u.conns.Store(&conns)
	}
}

// allowed notes how many streams the endpoint allows.
func (u *Upstream) allowed(streams int) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.limit = streams
}

// Close closes all connections, those in use too. There are no new ones afterwards: requests fail before anything is
// sent.
func (u *Upstream) Close() {
	u.mutex.Lock()
	u.closed = true
	for d := range u.dials {
		d.cancel()
	}
	conns := *u.conns.Load()
	u.mutex.Unlock()
	for _, c := range conns {
		c.shut(errUpstreamClosed)
	}
}

// CloseIdleConnections closes the connections that no request uses.
func (u *Upstream) CloseIdleConnections() {
	for _, c := range *u.conns.Load() {
		c.closeIdle()
	}
}

// Connections returns how many connections there are.
func (u *Upstream) Connections() int { return len(*u.conns.Load()) }

// over reports whether the upstream was closed.
func (u *Upstream) over() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.closed
}
