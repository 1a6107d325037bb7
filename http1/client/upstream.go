package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/httpio/epoll"
)

const (
	// defaultMaxIdle bounds the idle connections of an upstream whose configuration doesn't.
	defaultMaxIdle = 200
	// defaultMaxResponseHeader bounds the head of a response where the configuration doesn't, in bytes.
	defaultMaxResponseHeader = 1 << 20
)

// ErrHTTP2 is returned for a request of which nothing was sent, because TLS agreed on HTTP/2 with the endpoint. The
// connection is with Config.HTTP2 by then, which shall send this request and those that follow.
var ErrHTTP2 = errors.New("the endpoint chose HTTP/2")

// Config says how to speak to an upstream. It must not change once an Upstream has been made of it.
type Config struct {
	// Dial makes a TCP connection, within a time that it limits itself. It is required.
	Dial func(ctx context.Context) (net.Conn, error)
	// TLS holds the settings of TLS, with a server name and a session cache of this upstream's own; nil speaks plain.
	TLS *tls.Config
	// HandshakeTimeout bounds the TLS handshake; 0 does not.
	HandshakeTimeout time.Duration
	// HTTP2 takes a connection over on which TLS agreed on HTTP/2, and must close it in the end. When it is nil only
	// HTTP/1.1 is offered. It is called by the goroutine of the request for which the connection was made, which then
	// fails with ErrHTTP2.
	HTTP2 func(conn *tls.Conn)
	// KeepAlive is how long a connection is without bytes until TCP keep-alive probes begin, which are set when it is a
	// second old; 0 leaves connections as Dial has made them.
	KeepAlive time.Duration
	// MaxIdle bounds the idle connections; 0 stands for 200, and a negative value keeps none.
	MaxIdle int
	// IdleTimeout closes connections that were idle for so long; 0 never does.
	IdleTimeout time.Duration
	// MaxAge is the age beyond which a connection serves no further request; 0 sets no limit.
	MaxAge time.Duration
	// ResponseHeaderTimeout bounds the wait for the head of the response once the whole request is written; 0 does not.
	ResponseHeaderTimeout time.Duration
	// ContinueTimeout is how long a request with "Expect: 100-continue" waits for the answer to that before it sends
	// its body all the same; 0 doesn't wait.
	ContinueTimeout time.Duration
	// MaxHeaderBytes bounds the head of a response, status line included; 0 stands for 1 MiB.
	MaxHeaderBytes int
}

// Resources are what upstreams may share: recycled buffers, and one watch over all their idle connections. The zero
// value is ready, must not be copied, and needs no closing: it runs nothing while there are no idle connections.
type Resources struct {
	buffers buffers
	watch   epoll.Watch
}

// NewUpstream returns the connections to one upstream. It dials nothing yet.
func (r *Resources) NewUpstream(config *Config) *Upstream {
	u := &Upstream{resources: r, config: *config, epoch: time.Now()}
	if u.config.MaxIdle == 0 {
		u.config.MaxIdle = defaultMaxIdle
	}
	if u.config.MaxHeaderBytes <= 0 {
		u.config.MaxHeaderBytes = defaultMaxResponseHeader
	}
	if config.TLS != nil {
		u.config.TLS = config.TLS.Clone()
		u.config.TLS.NextProtos = []string{"http/1.1"}
		if config.HTTP2 != nil {
			u.config.TLS.NextProtos = []string{"h2", "http/1.1"}
		}
	}
	return u
}

// Upstream sends requests to one endpoint over connections that it keeps. All methods may be called by many goroutines
// at a time.
type Upstream struct {
	resources *Resources
	config    Config
	// epoch is the zero of clock.
	epoch time.Time

	// mutex guards what follows.
	mutex sync.Mutex
	// idle is a stack: the newest is at the end. Old connections at the bottom are left to their time-out.
	idle  []*clientConn
	timer *time.Timer
	// armed says that the timer will fire.
	armed bool
	// conns is the first in the list of all connections, idle or not.
	conns *clientConn
	// ageTimer sets keep-alive on connections, and ageing says that it will fire.
	ageTimer *time.Timer
	ageing   bool
	// closed says that there shall be no more connections.
	closed bool
}

// RoundTrip implements http.RoundTripper for callers that have no RoundTrip. It reports to the httptrace.ClientTrace of
// the request's context: GotConn, WroteRequest, Got100Continue, Got1xxResponse and GotFirstResponseByte. See Do for
// what differs from net/http's Transport.
func (u *Upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	call := &RoundTrip{}
	call.traced(r.Context())
	return u.Do(call, r)
}

// clock is a monotonic time, which costs half of time.Now.
func (u *Upstream) clock() time.Duration { return time.Since(u.epoch) }

// dial returns a fresh connection. It ends with the context, also in the middle of a handshake.
func (u *Upstream) dial(ctx context.Context) (*clientConn, error) {
	if u.over() {
		return nil, errUpstreamClosed
	}
	conn, err := u.config.Dial(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	cc := newClientConn(u, conn)
	if !u.list(cc) {
		cc.abort()
		return nil, errUpstreamClosed
	}
	if u.config.TLS == nil {
		return cc, nil
	}
	secure := cc.secure(u.config.TLS)
	if err := u.handshake(ctx, cc, secure); err != nil {
		u.forget(cc)
		cc.abort()
		return nil, cause(ctx, fmt.Errorf("TLS handshake: %w", err))
	}
	state := secure.ConnectionState()
	cc.tls = &state
	if state.NegotiatedProtocol == "h2" {
		u.forget(cc)
		u.config.HTTP2(secure)
		return nil, ErrHTTP2
	}
	return cc, nil
}

// handshake runs without the goroutine that HandshakeContext has for a context.
func (u *Upstream) handshake(ctx context.Context, cc *clientConn, secure *tls.Conn) error {
	stop := context.AfterFunc(ctx, cc.abort)
	if u.config.HandshakeTimeout > 0 {
		if err := cc.bottom.SetDeadline(time.Now().Add(u.config.HandshakeTimeout)); err != nil {
			stop()
			return err
		}
	}
	//nolint:noctx // closing the connection ends it, which the context does
	err := secure.Handshake()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return cc.bottom.SetDeadline(time.Time{})
}

// cause returns why the context has ended, or err while it has not. A connection that ends with its context has not
// failed.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Close closes the idle connections and aborts those in use, switched ones too (101). There are no new ones afterwards:
// requests fail before anything is sent. The list that it goes through is touched once in the life of a connection, and
// by no request.
func (u *Upstream) Close() {
	u.mutex.Lock()
	u.closed = true
	for cc := u.conns; cc != nil; cc = cc.next {
		cc.abort()
	}
	u.mutex.Unlock()
	u.CloseIdleConnections()
}

// over reports whether the upstream was closed.
func (u *Upstream) over() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.closed
}

// list takes a connection into the list of all; it is false once the upstream is closed.
func (u *Upstream) list(cc *clientConn) bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.closed {
		return false
	}
	cc.born = u.clock()
	if cc.next = u.conns; cc.next != nil {
		cc.next.previous = cc
	}
	u.conns = cc
	u.armKeepAlive()
	return true
}

// forget removes a connection from the list of all, if it is still there.
func (u *Upstream) forget(cc *clientConn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch {
	case cc.previous != nil:
		cc.previous.next = cc.next
	case u.conns == cc:
		u.conns = cc.next
	default:
		return
	}
	if cc.next != nil {
		cc.next.previous = cc.previous
	}
	cc.next, cc.previous = nil, nil
}
