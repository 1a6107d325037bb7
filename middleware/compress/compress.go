// Package compress implements the middleware compress, which compresses response bodies by gzip, brotli or Zstandard
// for clients that accept it.
//
// Responses that are encoded already or unsuitable pass unchanged. At most minResponseBodyBytes of a body are held, and
// nothing after a flush. Switched protocols, informational responses and trailers pass.
package compress

import (
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Compress is one configured compress with its pool of encoders.
type Compress struct {
	// codings are the encodings in configured order.
	codings []*coding
	// fallback is the encoding for clients without a preference, or nil.
	fallback *coding
	types    types
	minimum  int64
	room     room
	counts   counts
	// writers is a pool.
	writers sync.Pool
}

type counts struct{ compressed, skipped, crowded, in, out atomic.Uint64 }

// New checks the definition: encodings are some of gzip, br and zstd, defaultEncoding is one of them or empty, content
// types are media types ("text/html") or ranges of them ("text/*"), listed in one of the two options, and
// minResponseBodyBytes is not negative; 0 stands for 1024.
func New(_ string, config dynamic.Compress) (*Compress, error) {
	c := new(Compress)
	if err := c.setCodings(config.Encodings, config.DefaultEncoding); err != nil {
		return nil, err
	}
	var err error
	if c.minimum, err = minimum(config.MinResponseBodyBytes); err != nil {
		return nil, err
	}
	if c.types, err = newTypes(config.IncludedContentTypes, config.ExcludedContentTypes); err != nil {
		return nil, err
	}
	c.room.left.Store(roomBytes(debug.SetMemoryLimit(-1)))
	return c, nil
}

// NoRetain implements httpio.NoRetainer.
func (*Compress) NoRetain() {}

// Counts returns counters since New: "compressed" responses with the bytes of their bodies before ("bytes_in") and
// after ("bytes_out"), and "skipped" ones, whose clients accept compression. Of these, "crowded" were skipped because
// encoders had used up their memory limit.
func (c *Compress) Counts() map[string]uint64 {
	return map[string]uint64{
		"compressed": c.counts.compressed.Load(),
		"skipped":    c.counts.skipped.Load(),
		"crowded":    c.counts.crowded.Load(),
		"bytes_in":   c.counts.in.Load(),
		"bytes_out":  c.counts.out.Load(),
	}
}

// Wrap returns a handler that calls next with a compressing writer if the client accepts an encoding.
func (c *Compress) Wrap(next http.Handler) http.Handler {
	recyclable := !httpio.Retains(next)
	return &step{compress: c, next: next, recyclable: recyclable}
}

// step is the middleware of one router.
type step struct {
	compress *Compress
	next     http.Handler
	// recyclable is set if next keeps no part of a request or writer, provided that the service, by the request's record,
	// does not either.
	recyclable bool
}

func (s *step) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if coding := s.compress.choose(r); coding != nil {
		s.serve(w, r, coding)
		return
	}
	s.next.ServeHTTP(w, r)
}

// choose returns the encoding for the response to a request, or nil.
func (c *Compress) choose(r *http.Request) *coding {
	values, named := r.Header["Accept-Encoding"]
	if !named && c.fallback == nil || r.Method == http.MethodHead || r.Method == http.MethodConnect {
		return nil
	}
	chosen := c.fallback
	if named {
		chosen = c.accepted(values)
	}
	if chosen == nil || c.types.refusesRequest(r.Header) || listed(r.Header["Cache-Control"], "no-transform") {
		return nil
	}
	return chosen
}

func (s *step) serve(w http.ResponseWriter, r *http.Request, coding *coding) {
	own, recycled := s.compress.writers.Get().(*writer)
	if !recycled {
		own = &writer{compress: s.compress}
	}
	own.inner, own.coding, own.declared = w, coding, lengthUnknown
	completed := false
	defer func() {
		if !completed {
			own.abandon()
		}
	}()
	s.next.ServeHTTP(own, r)
	completed = true
	own.end()
	if s.recyclable && telemetry.RecordFrom(r.Context()).Released {
		own.reset()
		s.compress.writers.Put(own)
	}
}
