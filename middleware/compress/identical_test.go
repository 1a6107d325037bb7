package compress

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// plan is one generated response: what is written of the body at a time, with flushes between.
type plan struct {
	body     []byte
	pieces   []int
	flushes  []bool
	declared bool
	readFrom bool
}

func generate(random *rand.Rand) plan {
	var p plan
	size := random.IntN(2000)
	switch random.IntN(40) {
	case 0:
		size = 0
	case 1:
		size = random.IntN(100_000)
	}
	p.body = make([]byte, size)
	alphabet := 1 + random.IntN(255)
	for i := range p.body {
		if i > 64 && random.IntN(8) > 0 {
			p.body[i] = p.body[i-1-random.IntN(64)]
		} else {
			p.body[i] = byte(random.IntN(alphabet))
		}
	}
	most := 1 + random.IntN(size+1)
	for rest := size; rest > 0; {
		piece := min(rest, random.IntN(most)+1)
		if random.IntN(20) == 0 {
			piece = 0
		}
		p.pieces, p.flushes = append(p.pieces, piece), append(p.flushes, size < 20_000 && random.IntN(5) == 0)
		if rest -= piece; len(p.pieces) > 2000 {
			p.pieces[len(p.pieces)-1] += rest
			break
		}
	}
	p.declared, p.readFrom = random.IntN(3) == 0, random.IntN(4) == 0
	return p
}

// ServeHTTP writes the response.
func (p plan) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if p.declared {
		w.Header().Set("Content-Length", strconv.Itoa(len(p.body)))
	}
	rest := p.body
	for i, piece := range p.pieces {
		var n int
		var err error
		switch {
		case p.readFrom:
			var long int64
			long, err = w.(io.ReaderFrom).ReadFrom(bytes.NewReader(rest[:piece]))
			n = int(long)
		case i%3 == 2:
			n, err = w.(io.StringWriter).WriteString(string(rest[:piece]))
		default:
			n, err = w.Write(rest[:piece])
		}
		if err != nil || n != piece {
			panic(fmt.Sprintf("%d of %d bytes: %v", n, piece, err))
		}
		if rest = rest[piece:]; p.flushes[i] {
			w.(http.Flusher).Flush()
		}
	}
}

// TestBodiesAreIdentical sends 1,000 generated bodies in each encoding through one middleware, whose encoders are used
// again and again. The race detector gets 200 of them.
func TestBodiesAreIdentical(t *testing.T) {
	encodings := []string{"gzip", "br", "zstd"}
	for name, serve := range servers() {
		t.Run(name, func(t *testing.T) {
			c := made(t, func(config *dynamic.Compress) { config.MinResponseBodyBytes = 500 })
			at := serve(t, c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seed, err := strconv.ParseUint(r.Header.Get("Seed"), 10, 64)
				if err != nil {
					t.Error(err)
				}
				generate(rand.New(rand.NewPCG(seed, 7))).ServeHTTP(w, r)
			})))
			share := uint64(bodies)
			if name != "http1" {
				share = bodies / 10 // The server that counts gets all of them.
			}
			var workers sync.WaitGroup
			for _, encoding := range encodings {
				workers.Go(func() {
					for seed := range share {
						want := generate(rand.New(rand.NewPCG(seed, 7)))
						response := at.get(t, encoding, "Seed", strconv.FormatUint(seed, 10))
						if got := decoded(t, response); !bytes.Equal(got, want.body) {
							t.Errorf("body %d in %s: %d bytes, want %d", seed, encoding, len(got), len(want.body))
						}
						_ = response.Body.Close()
					}
				})
			}
			workers.Wait()
			counts := c.Counts()
			if counts["compressed"]+counts["skipped"] != 3*share || counts["skipped"] == 0 || counts["compressed"] < share ||
				counts["bytes_out"] >= counts["bytes_in"] {
				t.Errorf("counts: %v", counts)
			}
		})
	}
}
