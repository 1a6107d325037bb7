package forwardproxy

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// Proxy is the handler of an entrypoint with the option forwardProxy.
type Proxy struct {
	headers []header
	next    http.Handler
	// quiet and timeout are the options shutdownQuiet and shutdownTimeout.
	quiet, timeout time.Duration

	last   atomic.Int64 // when the last request began or ended, in nanoseconds since 1970
	active atomic.Int64 // requests
}

// header is one of the option defaultHeaders.
type header struct{ name, value string }

// New returns a handler that adds the default headers to requests and passes them on to next. Direct removes them
// again: they are for the Services that routers lead to.
func New(config *static.ForwardProxy, next http.Handler) *Proxy {
	p := &Proxy{
		next: next, quiet: time.Duration(config.ShutdownQuiet), timeout: time.Duration(config.ShutdownTimeout),
	}
	for name, value := range config.DefaultHeaders {
		p.headers = append(p.headers, header{http.CanonicalHeaderKey(name), value})
	}
	return p
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.active.Add(1)
	defer func() {
		p.last.Store(time.Now().UnixNano())
		p.active.Add(-1)
	}()
	var added []string
	for _, one := range p.headers {
		if len(r.Header[one.name]) == 0 {
			r.Header[one.name] = []string{one.value}
			added = append(added, one.name)
		}
	}
	if len(added) > 0 {
		r = r.WithContext(context.WithValue(r.Context(), addedKey{}, added))
	}
	p.next.ServeHTTP(w, r)
}

// addedKey is the key of the names of the default headers that a request got.
type addedKey struct{}

// pollInterval is how often AwaitQuiet looks.
const pollInterval = 50 * time.Millisecond

// AwaitQuiet returns when there has been no request for the time of shutdownQuiet, at the latest after shutdownTimeout
// or when ctx ends: the application that uses the proxy ends at the same time, and may still send requests.
func (p *Proxy) AwaitQuiet(ctx context.Context) {
	if p.quiet == 0 {
		return
	}
	begun := time.Now()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for time.Since(begun) < p.timeout && !p.quietSince(begun) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// quietSince reports whether there has been no request for the time of shutdownQuiet since then.
func (p *Proxy) quietSince(begun time.Time) bool {
	if last := time.Unix(0, p.last.Load()); last.After(begun) {
		begun = last
	}
	return p.active.Load() == 0 && time.Since(begun) >= p.quiet
}
