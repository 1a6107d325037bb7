// Package compress is the middleware compress: it compresses the bodies of responses for clients that accept it.
//
// What flows in: a request, of which Accept-Encoding counts, and the response of the handler behind. What flows out:
// the same response, with its body in gzip, brotli or Zstandard as it is written, or untouched where compressing it
// would be wrong or of no use. It never compresses twice, never decompresses, never keeps more of a body back than the
// minimum below which it is not compressed, and nothing after a flush. Switched protocols, informational responses and
// trailers pass.
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

// Compress is one configured compress, with the encoders that its responses take turns in using.
type Compress struct {
	// codings are in the operator's order of preference.
	codings []*coding
	// fallback is the one for clients that name none, or nil.
	fallback *coding
	types    types
	minimum  int64
	room     room
	counts   counts
	// writers holds those of which nobody keeps a part.
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

// NoRetain says that no part of a request outlives its handler here.
func (*Compress) NoRetain() {}

// Counts returns what has happened since New: responses that were "compressed", with the bytes of their bodies before
// ("bytes_in") and after ("bytes_out"), and those that were "skipped", though their clients would have taken them
// compressed. Of these, "crowded" were only skipped because the encoders of other responses took all the memory that
// they may take.
func (c *Compress) Counts() map[string]uint64 {
	return map[string]uint64{
		"compressed": c.counts.compressed.Load(),
		"skipped":    c.counts.skipped.Load(),
		"crowded":    c.counts.crowded.Load(),
		"bytes_in":   c.counts.in.Load(),
		"bytes_out":  c.counts.out.Load(),
	}
}

// Wrap returns a handler that calls next with a writer that compresses, or with the writer as it is for clients that
// accept no encoding.
func (c *Compress) Wrap(next http.Handler) http.Handler {
	transient := !httpio.Retains(next)
	return &step{compress: c, next: next, transient: transient}
}

// step is the middleware of one router.
type step struct {
	compress *Compress
	next     http.Handler
	// transient says that next keeps no part of a request or of its writer if the request's record says so of the service.
	transient bool
}

// ServeHTTP lets next answer.
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
	if s.transient && telemetry.RecordFrom(r.Context()).Released {
		own.reset()
		s.compress.writers.Put(own)
	}
}
