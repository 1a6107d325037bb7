package entrypoint

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/http1"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/telemetry"
)

// feed is the listener of the server of HTTP/2: it hands over connections that the dispatcher has opened.
type feed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func newFeed(addr net.Addr) *feed {
	return &feed{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

// ServeConn hands a connection to the server of HTTP/2.
func (f *feed) ServeConn(conn net.Conn) {
	select {
	case f.conns <- conn:
	case <-f.done:
		_ = conn.Close()
	}
}

// Accept returns the next connection.
func (f *feed) Accept() (net.Conn, error) {
	select {
	case conn := <-f.conns:
		return conn, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept; connections that come later are closed.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

// Addr returns the address of the entrypoint.
func (f *feed) Addr() net.Addr { return f.addr }

// minRate is how many bytes per second a client of HTTP/1.1 must send on average while its head or body is waited for.
const minRate = 240

// servers are those of an entrypoint, one for each major version of HTTP.
type servers struct {
	base  context.Context //nolint:containedctx // It is the root of all requests' contexts, and never ends.
	http1 *http1.Server
	http2 *http.Server
	feed  *feed
}

// endKeepAlive makes every response from now on the last of its connection. Idle connections of HTTP/1.1 stay.
func (s *servers) endKeepAlive() {
	s.http1.SetDraining()
	s.http2.SetKeepAlivesEnabled(false)
}

func (e *Entrypoint) newServers(base context.Context) *servers {
	return &servers{base: base, http1: e.newHTTP1(), http2: e.newHTTP2(base), feed: newFeed(e.listener.Addr())}
}

func (e *Entrypoint) newHTTP1() *http1.Server {
	return &http1.Server{
		Handler:         http.HandlerFunc(e.chain.serveHTTP1),
		MaxHeaderBytes:  e.settings.maxHeaderBytes,
		MaxHeaderFields: e.settings.maxHeaderCount,
		ReadTimeout:     e.settings.read,
		WriteTimeout:    e.settings.write,
		IdleTimeout:     e.settings.idle,
		MinRate:         minRate,
		ConnContext:     connContext,
		Refused:         e.refused,
		Panicked:        e.panicked,
	}
}

// newHTTP2 makes the server of HTTP/2, by ALPN or with prior knowledge. It can't serve HTTP/1.1.
func (e *Entrypoint) newHTTP2(base context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	http2 := e.settings.http2
	return &http.Server{
		Handler:                      http.HandlerFunc(e.chain.serveHTTP2),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            e.settings.read,
		WriteTimeout:                 e.settings.write,
		IdleTimeout:                  e.settings.idle,
		MaxHeaderBytes:               e.settings.maxHeaderBytes,
		Protocols:                    protocols,
		HTTP2:                        &http2,
		ErrorLog:                     log.New(serverLog{e}, "", 0),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnContext:                  connContext,
	}
}

// refused records a request of HTTP/1.1 whose head was answered without a handler.
func (e *Entrypoint) refused(conn net.Conn, reason *wire.Error) {
	record := telemetry.Record{
		Start: time.Now(), Entrypoint: e.name, Protocol: "http", Status: reason.Status, Reason: reason.Error(),
		Code: telemetry.CodeFor(reason.Status), Observe: e.deps.Observe, Version: "HTTP/1.1",
	}
	switch {
	case errors.Is(reason, wire.ErrTooManyFields):
		record.Reason = tooManyFields
	case errors.Is(reason, wire.ErrHeadTooLarge):
		record.Reason = "a larger header than http.maxHeaderBytes"
	}
	if secure, ok := conn.(*tls.Conn); ok {
		state := secure.ConnectionState()
		record.TLS = &state
	}
	if c := bottom(conn); c != nil {
		c.reached(serving)
		record.Client = c.text
	}
	e.finished(&record)
}

// panicked reports what the chain has not caught itself.
func (e *Entrypoint) panicked(r *http.Request, cause any, stack []byte) {
	e.report(report{level: failure, text: "handler panicked", request: r.Method + " " + r.Host, panic: cause, stack: string(stack)})
}

// bottom returns the connection that was accepted, also below TLS, or nil.
func bottom(conn net.Conn) *connection {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// connContext puts the connection and the memory of its handshake into the context of its requests.
func connContext(ctx context.Context, conn net.Conn) context.Context {
	c := bottom(conn)
	if c == nil {
		return ctx
	}
	ctx = context.WithValue(ctx, connectionKey{}, c)
	if _, secure := conn.(*tls.Conn); secure {
		ctx = certificate.WithConnection(ctx, &c.handshake)
	}
	return ctx
}
