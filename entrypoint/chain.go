package entrypoint

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// chain is what every request passes before the router: the rules of the entrypoint in their order.
type chain struct {
	entrypoint *Entrypoint
	next       http.Handler
	buffers    sync.Pool
	// recycled holds requests of HTTP/1.1 and HTTP/2 of which no part is kept.
	recycled sync.Pool
}

// responseWriter is a response that can be the last of its connection.
type responseWriter interface {
	http.ResponseWriter
	// CloseAfter ends the connection with this response, whatever the handler makes of the header.
	CloseAfter()
}

// admit applies the rules of the entrypoint to a request, and hands it on with the writer of its response.
func (c *chain) admit(v *requestState, w responseWriter, r *http.Request) {
	s := &c.entrypoint.settings
	if c.entrypoint.requestRate != nil && c.limited(v, w, r) {
		return
	}
	if e := c.entrypoint; e.alternate.known() && r.TLS != nil && r.ProtoMajor < 3 {
		e.advertise(v.connection, w.Header(), r)
	}
	if !v.http1 {
		// In HTTP/2 it stands beside :authority, and may say something else (RFC 9113, section 8.3.1).
		delete(r.Header, "Host")
		if s.maxHeaderCount > 0 && fields(r.Header) > s.maxHeaderCount {
			w.CloseAfter()
			v.refuse(w, http.StatusRequestHeaderFieldsTooLarge, tooManyFields)
			return
		}
		switch reason := flaw(r); {
		case reason != "" && r.Context().Err() != nil:
			v.record.Status = statusClientLeft // It left while a body was waited for.
			return
		case reason != "":
			v.reject(w, http.StatusBadRequest, reason)
			return
		}
	}
	if !s.underscore.Apply(r.Header) {
		v.reject(w, http.StatusBadRequest, "a header has an underscore in its name")
		return
	}
	target, err := s.policy.Normalize(r)
	if err != nil {
		status := http.StatusBadRequest
		if refused, ok := errors.AsType[*canonical.Error](err); ok {
			status = refused.Status
		}
		v.reject(w, status, err.Error())
		return
	}
	v.record.Host, v.record.Path = r.Host, target.Escaped
	if v.connection != nil && v.connection.isOld(s) {
		w.CloseAfter()
	}
	s.forwarding.ApplyIn(&v.forwarded, r, forwarded.Peer{Address: v.client, Text: v.record.Client, Seen: v.seen})
	if r.Trailer != nil {
		forwarded.StripUntrusted(r.Trailer)
	}
	if r.TLS != nil && !r.TLS.HandshakeComplete && !early(r) {
		v.refuse(w, http.StatusTooEarly, "the request came in early data and may not be repeated")
		return
	}
	if starter := c.entrypoint.deps.Starter; starter != nil {
		starter.Began(&v.record, r)
	}
	c.next.ServeHTTP(w, r)
}

// flaw says what is wrong with a request of HTTP/2, whose server looks at none of this; that of HTTP/1.1 has refused
// it.
func flaw(r *http.Request) string {
	switch {
	case !wire.ValidToken(r.Method):
		return "the method is no token"
	case r.Host == "":
		return "the request has no :authority and no host" // RFC 9113, section 8.3.1.
	case !canonical.ValidAuthority(r.Host):
		return "the host is neither a name nor an address"
	case r.ProtoMajor > 2:
		return lengthFlaw(r) // The server of HTTP/2 has looked at it.
	}
	return ""
}

// reject refuses a request that should not have been sent. In HTTP/1.1 the connection ends with the answer, as with all
// that its server refuses: the bytes behind the request have no certain meaning. In HTTP/2 other streams have no part
// in it.
func (v *requestState) reject(w responseWriter, status int, reason string) {
	if v.http1 {
		w.CloseAfter()
	}
	v.refuse(w, status, reason)
}

// tooManyFields is the reason for refusing a request with more header fields than it may have.
const tooManyFields = "more header fields than http.maxHeaderCount"

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
	// Only streams of one connection contend for the number.
	requests := c.requests.Add(1)
	if c.closing.Load() || s.keepAliveRequests > 0 && requests >= int64(s.keepAliveRequests) {
		return true
	}
	return s.keepAliveTime > 0 && time.Since(c.accepted) >= s.keepAliveTime
}
