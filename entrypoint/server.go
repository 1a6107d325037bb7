package entrypoint

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/sluiceproxy/sluice/certificate"
)

// feed is the listener of the HTTP server: it hands over connections that the dispatcher has opened.
type feed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func newFeed(addr net.Addr) *feed {
	return &feed{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

// ServeConn hands a connection to the HTTP server.
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

// newServer makes the HTTP server of the entrypoint: HTTP/1.1 and, by ALPN or with prior knowledge, HTTP/2.
func (e *Entrypoint) newServer(ctx context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	http2 := e.settings.http2
	return &http.Server{
		Handler:                      &e.chain,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            e.settings.read,
		WriteTimeout:                 e.settings.write,
		IdleTimeout:                  e.settings.idle,
		MaxHeaderBytes:               e.settings.maxHeaderBytes,
		Protocols:                    protocols,
		HTTP2:                        &http2,
		ErrorLog:                     log.New(serverLog{e}, "", 0),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext:                  connContext,
	}
}

// connContext puts the connection and the memory of its handshake into the context of its requests.
func connContext(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		c, ok := secure.NetConn().(*connection)
		if !ok {
			return ctx
		}
		return certificate.WithConnection(context.WithValue(ctx, connectionKey{}, c), &c.handshake)
	}
	if c, ok := conn.(*connection); ok {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	return ctx
}
