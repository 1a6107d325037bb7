package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// errNotHTTP2 is the error of a connection, before anything is sent, to an endpoint that no longer chooses
// HTTP/2.
var errNotHTTP2 = errors.New("the endpoint chose another protocol than HTTP/2")

// multiplexed are the HTTP/2 connections to one upstream, which net/http keeps.
type multiplexed struct {
	wire *http.Transport
	dial func(ctx context.Context) (net.Conn, error)
	tls  *tls.Config
	// agreed says that the endpoint chose HTTP/2 in the last ALPN.
	agreed atomic.Bool
	// spare is a connection that has negotiated HTTP/2, until the transport takes it.
	spare atomic.Pointer[tls.Conn]
	live  live
}

// clear returns connections without TLS.
func (t *Transport) clear(dial func(context.Context) (net.Conn, error)) *multiplexed {
	m := new(multiplexed)
	m.dial = m.live.list(dial)
	m.wire = t.wire()
	m.wire.Protocols.SetUnencryptedHTTP2(true)
	m.wire.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx) }
	return m
}

// negotiated returns connections with TLS, for endpoints that choose HTTP/2.
func (t *Transport) negotiated(dial func(context.Context) (net.Conn, error), settings *tls.Config) *multiplexed {
	m := &multiplexed{tls: settings.Clone()}
	m.dial = m.live.list(dial)
	m.tls.NextProtos = []string{"h2", "http/1.1"}
	m.wire = t.wire()
	m.wire.Protocols.SetHTTP2(true)
	m.wire.DialTLSContext = m.connect
	return m
}

// wire returns net/http's side of HTTP/2.
func (t *Transport) wire() *http.Transport {
	return &http.Transport{
		DisableCompression:     true,
		MaxIdleConnsPerHost:    t.maxIdle,
		IdleConnTimeout:        time.Duration(t.timeouts.IdleConnTimeout),
		ResponseHeaderTimeout:  time.Duration(t.timeouts.ResponseHeaderTimeout),
		ExpectContinueTimeout:  expectContinueTimeout,
		MaxResponseHeaderBytes: maxResponseHeaderBytes,
		Protocols:              new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: time.Duration(t.timeouts.ReadIdleTimeout),
			PingTimeout:     time.Duration(t.timeouts.PingTimeout),
		},
	}
}

// take hands a connection that has negotiated HTTP/2 to the next dial of the transport.
func (m *multiplexed) take(conn *tls.Conn) {
	closeSpare(m.spare.Swap(conn))
	m.agreed.Store(true)
}

// drop closes the spare connection if the transport did not need it.
func (m *multiplexed) drop() { closeSpare(m.spare.Swap(nil)) }

func closeSpare(conn *tls.Conn) {
	if conn != nil {
		_ = conn.Close() // nothing was sent over it
	}
}

// connect returns the spare connection, or a new one.
func (m *multiplexed) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	if conn := m.spare.Swap(nil); conn != nil {
		return conn, nil
	}
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
		err = errNotHTTP2
	default:
		return conn, nil
	}
	_ = bottom.Close() // nothing was sent over it
	return nil, err
}

func (m *multiplexed) closeIdle() {
	m.drop()
	m.wire.CloseIdleConnections()
}
