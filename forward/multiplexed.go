package forward

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	http2 "github.com/sluiceproxy/sluice/http2/client"
)

// multiplexed are the HTTP/2 connections to one upstream.
type multiplexed struct {
	upstream *http2.Upstream
	dial     func(ctx context.Context) (net.Conn, error)
	tls      *tls.Config
	// agreed says that the endpoint chose HTTP/2 in the last ALPN.
	agreed atomic.Bool
}

// clear returns connections without TLS.
func (t *Transport) clear(dial func(context.Context) (net.Conn, error)) *multiplexed {
	return &multiplexed{upstream: t.http2(dial)}
}

// negotiated returns connections with TLS, for endpoints that choose HTTP/2.
func (t *Transport) negotiated(dial func(context.Context) (net.Conn, error), settings *tls.Config) *multiplexed {
	m := &multiplexed{dial: dial, tls: settings.Clone()}
	m.tls.NextProtos = []string{"h2", "http/1.1"}
	m.upstream = t.http2(m.connect)
	return m
}

func (t *Transport) http2(dial func(context.Context) (net.Conn, error)) *http2.Upstream {
	return t.streams.NewUpstream(&http2.Config{
		Dial:                  dial,
		IdleTimeout:           time.Duration(t.timeouts.IdleConnTimeout),
		ResponseHeaderTimeout: time.Duration(t.timeouts.ResponseHeaderTimeout),
		ContinueTimeout:       expectContinueTimeout,
		ReadIdleTimeout:       time.Duration(t.timeouts.ReadIdleTimeout),
		PingTimeout:           time.Duration(t.timeouts.PingTimeout),
		MaxHeaderBytes:        maxResponseHeaderBytes,
	})
}

// take keeps a connection that has negotiated HTTP/2, unless there is one already. Where the upstream is closed, the
// request for it finds out.
func (m *multiplexed) take(conn *tls.Conn) {
	m.agreed.Store(true)
	if m.upstream.Connections() > 0 {
		_ = conn.Close() // nothing was sent over it
		return
	}
	_ = m.upstream.Add(conn)
}

// connect makes a connection.
func (m *multiplexed) connect(ctx context.Context) (net.Conn, error) {
	bottom, err := m.dial(ctx)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(bottom, m.tls)
	limited, cancel := context.WithTimeout(ctx, tlsHandshakeTimeout)
	defer cancel()
	err = conn.HandshakeContext(limited)
	switch {
	case err != nil:
		err = fmt.Errorf("TLS handshake: %w", err)
	case conn.ConnectionState().NegotiatedProtocol != "h2":
		err = http2.ErrNotHTTP2
	default:
		return conn, nil
	}
	_ = bottom.Close() // nothing was sent over it
	return nil, err
}
