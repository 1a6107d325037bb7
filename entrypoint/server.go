package entrypoint

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/http1/wire"
	http2 "github.com/sluiceproxy/sluice/http2/server"
	"github.com/sluiceproxy/sluice/telemetry"
)

// minRate is how many bytes per second a client must send on average while the head of its request (HTTP/1.1) or the
// body is waited for, after rateGrace.
const minRate = 240

// rateGrace is how long a client may be slower than minRate.
const rateGrace = 5 * time.Second

// servers are the servers of HTTP.
type servers struct{ http1, http2 ConnServer }

// newServers returns the servers of HTTP.
func (e *Entrypoint) newServers() servers {
	return servers{http1: e.newHTTP1(), http2: e.newHTTP2()}
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
		Handler:         http.HandlerFunc(e.chain.serve),
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

func (e *Entrypoint) newHTTP2() *http2.Server {
	return &http2.Server{
		Handler:         http.HandlerFunc(e.chain.serve),
		MaxHeaderBytes:  e.settings.maxHeaderBytes,
		MaxHeaderFields: e.settings.maxHeaderCount,
		MaxStreams:      e.settings.maxStreams,
		TableSize:       e.settings.tableSize,
		ExtendedConnect: e.settings.extendedConnect,
		ReadTimeout:     e.settings.read,
		WriteTimeout:    e.settings.write,
		IdleTimeout:     e.settings.idle,
		OpeningTimeout:  e.settings.opening,
		MinRate:         minRate,
		ConnContext:     connContext,
		Refused:         e.refusedStream,
		Panicked:        e.panicked,
		Failed:          e.failedHTTP2,
	}
}

// failedHTTP2 counts and reports a connection of HTTP/2 that has ended by a fault of its client.
func (e *Entrypoint) failedHTTP2(conn net.Conn, why http2.Failure) {
	if counter := e.deps.HTTP2; counter != nil {
		counter.HTTP2Failed(why.Cause.String())
	}
	r := report{level: detail, text: "connection of HTTP/2 ended: " + why.Cause.String() + ": " + why.Reason}
	if c := bottom(conn); c != nil {
		r.client = c.text
	}
	e.report(r)
}

// refusedStream records a request of HTTP/2 that is not handled, because its head is too large, or the heads of its
// client take too much memory.
func (e *Entrypoint) refusedStream(r *http.Request, status int, reason string) {
	v := new(requestState)
	v.open(e, r)
	v.record.Host, v.record.Path = r.Host, r.URL.EscapedPath()
	// A record may be kept, and the fields are what takes the memory.
	v.record.RequestHeader = nil
	v.record.Reason = reason
	v.submit(status)
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
		c.reached(active)
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
