package http1

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"
)

// dial returns a fresh connection. It ends with the context, also in the middle of a handshake.
func (u *Upstream) dial(ctx context.Context) (*clientConn, error) {
	if u.over() {
		return nil, errUpstreamClosed
	}
	conn, err := u.config.Dial(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	l := newClientConn(u, conn)
	if !u.list(l) {
		l.abort()
		return nil, errUpstreamClosed
	}
	if u.config.TLS == nil {
		return l, nil
	}
	secure := l.secure(u.config.TLS)
	if err := u.handshake(ctx, l, secure); err != nil {
		u.forget(l)
		l.abort()
		return nil, cause(ctx, fmt.Errorf("TLS handshake: %w", err))
	}
	state := secure.ConnectionState()
	l.tls = &state
	if state.NegotiatedProtocol == "h2" {
		u.forget(l)
		u.config.HTTP2(secure)
		return nil, ErrHTTP2
	}
	return l, nil
}

// handshake runs without the goroutine that HandshakeContext has for a context.
func (u *Upstream) handshake(ctx context.Context, l *clientConn, secure *tls.Conn) error {
	stop := context.AfterFunc(ctx, l.abort)
	if u.config.HandshakeTimeout > 0 {
		if err := l.bottom.SetDeadline(time.Now().Add(u.config.HandshakeTimeout)); err != nil {
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
	return l.bottom.SetDeadline(time.Time{})
}

// cause returns why the context has ended, or err while it has not. A connection that ends with its context has not
// failed.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
