// Package contenttype implements the middleware contentType, which detects the Content-Type of responses without one.
// The response's head is held until the first bytes of the body; the body is not buffered.
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
	// writers recycles response writers.
	writers sync.Pool
}

// New accepts every definition. The deprecated option autoDetect disables the middleware if false; either value causes
// a warning, see [ContentType.Warnings].
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

// NoRetain implements httpio.NoRetainer.
func (*ContentType) NoRetain() {}

// Wrap returns a handler that sets Content-Type from the first bytes of the body, by http.DetectContentType (WHATWG
// MIME Sniffing). It does not change a response that has a Content-Type, also an empty one, or a Content-Encoding, or
// X-Content-Type-Options: nosniff; that is partial (206, or a Content-Range); that has no body; or that is flushed
// before the first byte. HEAD and gRPC requests are passed on unchanged.
func (c *ContentType) Wrap(next http.Handler) http.Handler {
	if c.off {
		return next
	}
	recyclable := !httpio.Retains(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead || isGRPC(r.Header) {
			next.ServeHTTP(w, r)
			return
		}
		writer, recycled := c.writers.Get().(*responseWriter)
		if !recycled {
			writer = new(responseWriter)
		}
		writer.ResponseWriter = w
		next.ServeHTTP(writer, r)
		writer.decide(nil)
		if recyclable && telemetry.RecordFrom(r.Context()).Released {
			writer.reset()
			c.writers.Put(writer)
		}
	})
}

// isGRPC reports whether the request is gRPC, whose responses always have a type.
func isGRPC(header http.Header) bool {
	kinds := header["Content-Type"]
	return len(kinds) == 1 && strings.HasPrefix(kinds[0], "application/grpc")
}
