package entrypoint

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/entrypoint/h2"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/telemetry"
)

// minRate is how many bytes per second a client must send on average while the head of its request (HTTP/1.1) or the
// body is waited for, after rateGrace.
const minRate = 240

// rateGrace is how long a client may be slower than minRate.
const rateGrace = 5 * time.Second

// servers are the servers of HTTP.
type servers struct{ http1, http2 ConnServer }

// newServers returns the servers of HTTP. base is the root of all requests' contexts.
func (e *Entrypoint) newServers(base context.Context) servers {
	return servers{http1: e.newHTTP1(), http2: e.newHTTP2(base)}
}

// of returns the server for what ALPN has chosen.
func (s servers) of(protocol string) ConnServer {
	if protocol == protocolHTTP2 {
		return s.http2
	}
	return s.http1
}

func (s servers) all() [2]ConnServer { return [...]ConnServer{s.http1, s.http2} }

func (e *Entrypoint) newHTTP1() *server.Server {
	return &server.Server{
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

func (e *Entrypoint) newHTTP2(base context.Context) *h2.Server {
	return h2.New(base, &h2.Config{
		Handler:        http.HandlerFunc(e.chain.serveStream),
		Exceeded:       e.exceeded,
		ConnContext:    connContext,
		MaxHeaderBytes: e.settings.maxHeaderBytes,
		WriteTimeout:   e.settings.write,
		IdleTimeout:    e.settings.idle,
		OpeningTimeout: e.settings.opening,
		HTTP2:          e.settings.http2,
		ErrorLog:       serverLog{e},
	})
}

// exceeded records a request of HTTP/2 that is not handled, because its client holds too much memory by the heads of
// its requests.
func (e *Entrypoint) exceeded(r *http.Request) {
	v := new(requestState)
	v.open(e, r)
	v.record.Host, v.record.Path = r.Host, r.URL.EscapedPath()
	// A record may be kept, and the fields are what takes the memory.
	v.record.RequestHeader = nil
	v.record.Reason = "the heads of the client's requests take too much memory"
	v.submit(http.StatusRequestHeaderFieldsTooLarge)
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
	e.report(report{
		level: failure, text: "handler panicked", request: r.Method + " " + r.Host, panic: cause, stack: string(stack),
	})
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
