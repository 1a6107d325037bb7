// Package contenttype is the middleware contentType: it names the content type of responses for which the service
// named none.
//
// What flows in: a response, as the handlers behind it write it. What flows out: the same response, with a
// Content-Type that the first bytes of its body tell, where it has a body and lacks the header. It keeps the head
// back until the first bytes come, and never the bytes.
package contenttype

import (
	"net/http"
	"strings"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ContentType is one configured contentType.
type ContentType struct {
	off      bool
	warnings []string
	// exchanges holds those to be used again.
	exchanges sync.Pool
}

// New accepts every definition. The deprecated option autoDetect set to false makes a middleware that does nothing;
// either value is answered with a warning, see [ContentType.Warnings].
func New(_ string, config dynamic.ContentType) (*ContentType, error) {
	c := new(ContentType)
	if config.AutoDetect != nil {
		c.off = !*config.AutoDetect
		c.warnings = []string{"contentType.autoDetect is deprecated: without it the middleware detects, and false makes it " +
			"do nothing"}
	}
	return c, nil
}

// Warnings returns one clause if the deprecated option autoDetect is set.
func (c *ContentType) Warnings() []string { return c.warnings }

// NoRetain says that no part of a request outlives its handler here.
func (*ContentType) NoRetain() {}

// Wrap returns a handler that calls next with a writer that sets Content-Type by the first bytes of the body, as
// http.DetectContentType knows them (WHATWG MIME Sniffing). A response is left alone when it names a type, also an
// empty one, or a Content-Encoding; when it says X-Content-Type-Options: nosniff; when its bytes are not the
// beginning (206, or a Content-Range); when it has no body; and when it is flushed before the first byte. A request
// that can have no such response is not looked at: HEAD, and gRPC.
func (c *ContentType) Wrap(next http.Handler) http.Handler {
	if c.off {
		return next
	}
	transient := !httpio.Retains(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead || isGRPC(r.Header) {
			next.ServeHTTP(w, r)
			return
		}
		e, recycled := c.exchanges.Get().(*exchange)
		if !recycled {
			e = new(exchange)
		}
		e.ResponseWriter = w
		next.ServeHTTP(e, r)
		e.decide(nil)
		if transient && telemetry.RecordFrom(r.Context()).Released {
			e.reset()
			c.exchanges.Put(e)
		}
	})
}

// isGRPC reports whether the request is gRPC, whose responses name their type always.
func isGRPC(header http.Header) bool {
	kinds := header["Content-Type"]
	return len(kinds) == 1 && strings.HasPrefix(kinds[0], "application/grpc")
}
