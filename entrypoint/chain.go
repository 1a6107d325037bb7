package entrypoint

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
)

// chain is what every request passes before the router: one Exchange, and the rules of the entrypoint in their order.
type chain struct {
	entrypoint *Entrypoint
	next       http.Handler
	buffers    sync.Pool
}

// ServeHTTP guards, checks and normalises a request and hands it on.
func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{entrypoint: c.entrypoint, inner: w, received: r, http1: r.ProtoMajor == 1}
	x.connection, _ = r.Context().Value(connectionKey{}).(*connection)
	if x.http1 && x.connection != nil && x.connection.shut.Load() {
		// The body before broke off after its response had begun, and what the server had read ahead is no request.
		panic(http.ErrAbortHandler)
	}
	x.scope = scope{inner: r.Context(), exchange: x}
	if x.http1 && r.Trailer == nil && r.ContentLength < 0 {
		// The server fills in what nobody announced; through one map it reaches every copy of the request.
		r.Trailer = http.Header{}
	}
	x.request = r.WithContext(&x.scope)
	x.request.Body = x.guardBody()
	x.record.Start = time.Now()
	x.record.Entrypoint = c.entrypoint.name
	x.record.Method = r.Method
	x.record.Protocol = protocol(r.Header)
	x.serve()
}

// protocol names what a request asks for in the words of the request counters.
func protocol(h http.Header) string {
	switch {
	case len(h["Upgrade"]) > 0 && strings.EqualFold(canonical.UpgradeType(h), "websocket"):
		return "websocket"
	case len(h["Accept"]) > 0 && strings.HasPrefix(h["Accept"][0], "text/event-stream"):
		return "sse"
	}
	return "http"
}

// admit applies the rules of the entrypoint to a request.
func (c *chain) admit(x *Exchange, r *http.Request) {
	s := &c.entrypoint.settings
	peer := x.client(r)
	if !x.http1 {
		// In HTTP/2 it stands beside :authority, and may say something else (RFC 9113, section 8.3.1).
		delete(r.Header, "Host")
	}
	if s.maxHeaderCount > 0 && fields(r.Header) > s.maxHeaderCount {
		x.closeAfter.Store(true)
		x.refuse(http.StatusRequestHeaderFieldsTooLarge, "more header fields than http.maxHeaderCount")
		return
	}
	if !s.underscore.Apply(r.Header) {
		x.refuse(http.StatusBadRequest, "a header has an underscore in its name")
		return
	}
	if reason := flaw(r); reason != "" {
		x.refuse(http.StatusBadRequest, reason)
		return
	}
	target, err := s.policy.Normalize(r)
	if err != nil {
		status := http.StatusBadRequest
		if refused, ok := errors.AsType[*canonical.Error](err); ok {
			status = refused.Status
		}
		x.refuse(status, err.Error())
		return
	}
	x.record.Host, x.record.Path = r.Host, target.Escaped
	if x.connection != nil && x.connection.isOld(s) {
		x.closeAfter.Store(true)
	}
	s.forwarding.Apply(r, peer)
	if r.Trailer != nil {
		canonical.StripUntrusted(r.Trailer)
	}
	c.next.ServeHTTP(x, r)
}

// flaw says what is wrong with a method or a host of which net/http's server looks at those of HTTP/1.1 alone. Its transport would
// make another host of the host, and blame a method on the endpoint.
func flaw(r *http.Request) string {
	switch {
	case !httpguts.ValidHeaderFieldName(r.Method): // Both are tokens.
		return "the method is no token"
	case !httpguts.ValidHostHeader(r.Host):
		return "the host has a character that no host has"
	}
	return ""
}

// client returns the address of the client and notes it.
func (x *Exchange) client(r *http.Request) netip.Addr {
	if x.connection != nil {
		x.connection.reached(serving)
		x.record.Client = x.connection.text
		return x.connection.client
	}
	addr, ok := canonical.ClientAddr(r.RemoteAddr)
	if ok {
		x.record.Client = addr.String()
	}
	return addr
}

// refuse answers without a handler. The reason is for the log.
func (x *Exchange) refuse(status int, reason string) {
	x.record.Reason = reason
	http.Error(x, http.StatusText(status), status)
}

// fields counts the header fields of a request.
func fields(h http.Header) int {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	return n
}

// isOld counts a request and reports whether it is the last one that the connection may bring.
func (c *connection) isOld(s *settings) bool {
	if s.keepAliveRequests > 0 && c.requests.Add(1) >= int64(s.keepAliveRequests) {
		return true
	}
	return s.keepAliveTime > 0 && time.Since(c.accepted) >= s.keepAliveTime
}
