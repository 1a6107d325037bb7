// Package buffering implements the middleware buffering, which passes bodies on when they are complete.
//
// Bodies of requests and responses are kept in memory or, beyond a threshold, in a file without a name. Upgraded
// connections, gRPC and server-sent events are streamed, within the same limits. Nothing of an attempt that is repeated
// reaches the client.
package buffering

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/held"
	"github.com/sluiceproxy/sluice/httpio/replay"
)

const (
	// memoryBytes is how much of a body is kept in memory by default.
	memoryBytes = 1 << 20
	// maxRetries is how often a request is repeated at most, whatever the expression says.
	maxRetries = 10
)

// Buffering is one configured buffering.
type Buffering struct {
	name string
	// maxRequest and maxResponse are 0 where there is no limit.
	maxRequest, memRequest   int64
	maxResponse, memResponse int64
	retry                    expression
	// requestOnly says that responses pass as they come.
	requestOnly bool
	// memory recycles the memory of request bodies.
	memory replay.Memory
	held   *held.Registry

	tooLarge, responseTooLarge, retried atomic.Uint64
}

// Options are what the middleware needs beside its configuration.
type Options struct {
	// Held gets the requests that hold 1 MiB of memory or more, so that they can be ended when memory is short, but for
	// those of routers of the class critical. Nil ends none.
	Held *held.Registry
}

// New checks the definition: no size is negative, retryExpression is one, and requestOnly is set without options of
// responses and retries. A memRequestBodyBytes or memResponseBodyBytes of 0 is 1 MiB, a maxRequestBodyBytes or
// maxResponseBodyBytes of 0 is no limit.
func New(name string, config dynamic.Buffering, options Options) (*Buffering, error) {
	b := &Buffering{
		name: name, maxRequest: config.MaxRequestBodyBytes, memRequest: config.MemRequestBodyBytes,
		maxResponse: config.MaxResponseBodyBytes, memResponse: config.MemResponseBodyBytes, held: options.Held,
	}
	if b.requestOnly = config.RequestOnly; b.requestOnly &&
		(b.maxResponse != 0 || b.memResponse != 0 || config.RetryExpression != "") {
		return nil, errors.New("buffering.requestOnly excludes maxResponseBodyBytes, memResponseBodyBytes and " +
			"retryExpression, for which responses are kept")
	}
	for _, option := range []struct {
		name  string
		value *int64
		unset int64
	}{
		{"maxRequestBodyBytes", &b.maxRequest, 0},
		{"memRequestBodyBytes", &b.memRequest, memoryBytes},
		{"maxResponseBodyBytes", &b.maxResponse, 0},
		{"memResponseBodyBytes", &b.memResponse, memoryBytes},
	} {
		switch {
		case *option.value < 0:
			return nil, fmt.Errorf("buffering.%s %d is negative", option.name, *option.value)
		case *option.value == 0:
			*option.value = option.unset
		}
	}
	if config.RetryExpression != "" {
		var err error
		if b.retry, err = parse(config.RetryExpression); err != nil {
			return nil, fmt.Errorf("buffering.retryExpression %q: %w", config.RetryExpression, err)
		}
	}
	return b, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*Buffering) NoRetain() {}

// Counts returns how many requests ("too_large") and responses ("response_too_large") were refused for their size, and
// how many tries were repeated ("retried").
func (b *Buffering) Counts() map[string]uint64 {
	return map[string]uint64{
		"too_large": b.tooLarge.Load(), "response_too_large": b.responseTooLarge.Load(), "retried": b.retried.Load(),
	}
}

// Wrap returns a handler that calls next with a request whose body is whole, and sends its response when that is, or as
// it comes with requestOnly. It answers 413 to a body that is larger than maxRequestBodyBytes, without requesting it
// where its length is announced; 400 or 408 to one that can't be read; 500 for a response larger than
// maxResponseBodyBytes, or where a file can't be written; and 502 for a response that broke off. Where the expression
// says so, a response is discarded and next is called again, with the original request. A request that [Options.Held]
// ends is answered 503 or, when its response has begun, aborted.
func (b *Buffering) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > b.maxRequest && b.maxRequest > 0 {
			b.refuse(w, r, http.StatusRequestEntityTooLarge, b.requestReason())
			return
		}
		if streams(r) {
			b.pass(w, r, next)
			return
		}
		s := &requestState{buffering: b, writer: w, request: r, next: next}
		defer s.release()
		s.serve()
	})
}

// streams reports whether a request and its response cannot be buffered: an upgrade to another protocol, or gRPC, which
// may stream in both directions.
func streams(r *http.Request) bool {
	if isGRPC(r.Header) {
		return true
	}
	upgrade := r.Header["Upgrade"]
	if len(upgrade) == 0 || !r.ProtoAtLeast(1, 1) || r.Body != nil && r.Body != http.NoBody {
		return false
	}
	// The usual spelling is recognized without parsing lists.
	if connection := r.Header["Connection"]; len(upgrade) == 1 && len(connection) == 1 &&
		strings.EqualFold(upgrade[0], "websocket") && strings.EqualFold(connection[0], "upgrade") {
		return true
	}
	return forwarded.UpgradeType(r.Header) != ""
}

// isGRPC looks for gRPC and gRPC-Web.
func isGRPC(header http.Header) bool {
	values := header["Content-Type"]
	return len(values) == 1 && len(values[0]) >= len(grpc) && strings.EqualFold(values[0][:len(grpc)], grpc)
}

const grpc = "application/grpc"

// isEvents reports whether a response is one of server-sent events.
func isEvents(header http.Header) bool {
	values := header["Content-Type"]
	if len(values) != 1 {
		return false
	}
	kind, _, _ := strings.Cut(values[0], ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}
