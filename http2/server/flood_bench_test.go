package server_test

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// BenchmarkFloods measures how long requests of others take while a hostile client floods the server again and
// again, in the same process, beside a quiet server and one whose other client is busy with requests.
func BenchmarkFloods(b *testing.B) {
	floods := []flood{{name: "quiet"}, {name: "requests", again: func(p *peer, i uint32) error {
		return p.open(nth(i), "GET", "/", true)
	}}}
	for _, f := range slices.Concat(floods, resets(), controls(), heads()) {
		b.Run(f.name, func(b *testing.B) {
			s := &server.Server{MaxHeaderBytes: f.most, Handler: http.HandlerFunc(floodHandler)}
			g := &rig{t: b, server: s, Rig: http1test.Serve(b, s, nil)}
			honest := g.client()
			g.get(honest, "/")
			var work sync.WaitGroup
			var over atomic.Bool
			if f.again != nil {
				work.Go(func() {
					for !over.Load() {
						g.attack(f, &over)
					}
				})
			}
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				begun := time.Now()
				g.get(honest, "/")
				took = append(took, time.Since(begun))
			}
			over.Store(true)
			work.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "us-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "us-p99")
		})
	}
}

// attack floods over one connection until that ends.
func (g *rig) attack(f flood, over *atomic.Bool) {
	p := g.peer()
	p.flush()
	var reading sync.WaitGroup
	reading.Go(func() { p.away() })
	defer reading.Wait()
	defer p.conn.Close() //nolint:errcheck // a test's
	if f.begin != nil {
		f.begin(p)
	}
	for i := uint32(0); !over.Load(); i++ {
		if f.again(p, i) != nil || p.writer.Flush() != nil {
			return
		}
	}
}
