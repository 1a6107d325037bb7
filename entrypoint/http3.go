package entrypoint

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/forwarded"
)

// newHTTP3 returns the server of HTTP/3.
func (e *Entrypoint) newHTTP3() *h3.Server {
	process := e.deps.HTTP3
	if process == nil {
		process = h3.NewProcess()
	}
	config := &h3.Config{
		Handler: http.HandlerFunc(e.chain.serveStream),
		TLS:     e.configForQUIC,
		Admit:   e.admitQUIC,
		Crowded: e.crowded,
		Exceeded: func(r *http.Request) {
			e.refusedStream(r, http.StatusRequestHeaderFieldsTooLarge, "the heads of the client's requests take too much memory")
		},
		MaxHeaderBytes:  e.settings.maxHeaderBytes,
		MaxStreams:      e.settings.maxStreams,
		WriteTimeout:    e.settings.write,
		IdleTimeout:     e.settings.idle,
		OpeningTimeout:  e.settings.opening,
		Allow0RTT:       e.settings.http3.Allow0RTT,
		ExtendedConnect: e.settings.http3.ExtendedConnect,
		Process:         process,
	}
	if qlog := e.settings.http3.QLog; qlog != nil {
		traces := h3.NewTraces(qlog.Directory, e.name, qlog.MaxFiles, int64(qlog.MaxBytes), func(err error) {
			e.report(report{level: warning, text: "a connection is not recorded in qlog", err: err})
		})
		config.Trace = traces.Trace
	}
	if e.deps.Handshakes != nil {
		config.Handshakes = e.deps.Handshakes
	}
	if e.deps.QUIC != nil {
		config.Failed = func(cause h3.Cause) { e.deps.QUIC.Failed(cause.String()) }
		config.Dropped = e.deps.QUIC.Dropped
	}
	return h3.New(config)
}

// admitQUIC counts a connection of HTTP/3 among those of TCP, if there is room for it.
func (e *Entrypoint) admitQUIC(ctx context.Context, conn *h3.Conn) (context.Context, func(), bool) {
	c := &connection{
		Conn: conn, owner: &e.open, local: conn.LocalAddr(), remote: conn.RemoteAddr(), accepted: time.Now(), quic: true,
	}
	if e.deps.QUIC != nil {
		c.counter = e.deps.QUIC
	}
	c.identify()
	c.phase.Store(int32(opening))
	if e.deps.Gate != nil && !e.deps.Gate.TryEnter() {
		e.refuseConnection(overloaded, c.text)
		return nil, nil, false
	}
	if why := e.enter(c, true); why != admitted {
		e.refuseConnection(why, c.text)
		return nil, nil, false
	}
	if !e.open.claim(c) {
		e.open.remove(c)
		e.refuseConnection(maxConnectionsPerClient, c.text)
		return nil, nil, false
	}
	ctx = context.WithValue(ctx, connectionKey{}, c)
	return certificate.WithConnection(ctx, &c.handshake), func() { _ = c.Close() }, true
}

// crowded reports whether half of what connections may be at a time, in total or from a client, or may come before the
// next sample of the gate, is in use: by addresses that are not proven, a client could use up the other half at most,
// also in the name of another. Tokens of a rate are given to proven addresses alone.
func (e *Entrypoint) crowded(client net.Addr) bool {
	addr, _ := forwarded.ClientAddr(client.String())
	return e.connectionRate != nil || e.handshakes.rate != nil || e.open.crowded(addr) ||
		e.deps.Gate != nil && e.deps.Gate.Crowded()
}

// configForQUIC selects the options for the ClientHello of a connection of HTTP/3.
func (e *Entrypoint) configForQUIC(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c, _ := hello.Context().Value(connectionKey{}).(*connection)
	if why := e.handshakes.pace(c); why != admitted {
		e.refuseConnection(why, c.text)
		return nil, why
	}
	return e.selectTLS(c, serverName(hello)), nil
}

// early reports whether a request of early data (0-RTT) may be handled: an attacker can have it handled again. Its
// endpoint gets Early-Data, and may refuse it (RFC 8470, section 5.1). A WebSocket is no such request, since messages
// follow it.
func early(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Body != http.NoBody || len(r.Header["Upgrade"]) > 0 {
		return false
	}
	r.Header["Early-Data"] = []string{"1"}
	return true
}
