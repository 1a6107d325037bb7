package server_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// TestPriorities has responses that wait for the window of the connection, and come by their urgency (RFC 9218).
func TestPriorities(t *testing.T) {
	t.Parallel()
	var finished atomic.Int32
	writers := make(chan http.ResponseWriter, 10)
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		writers <- w
		_, _ = w.Write(make([]byte, 20_000))
		finished.Add(1)
	})
	p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	p.must(p.WriteWindowUpdate(0, 1)) // 65,536 in all
	use := func(id uint32) {
		p.request(id, "GET", "/", true)
		for {
			if f, ok := p.next().(*http2.DataFrame); ok && f.StreamEnded() {
				return
			}
		}
	}
	for _, id := range []uint32{1, 3, 5} {
		use(id)
		<-writers
	}
	left := 5536 // which the first takes
	for i, priority := range []string{"u=5", "u=1", "u=7", "u=3"} {
		p.request(nth(uint32(i+3)), "GET", "/", true, "priority: "+priority) //nolint:gosec // small
	}
	p.must(p.WriteRawFrame(16, 0, 0, []byte("\x00\x00\x00\x0bu=0"))) // Stream 11 becomes the first.
	p.flush()
	var all []http.ResponseWriter
	for range 4 {
		all = append(all, http1test.Receive(t, writers, "a handler"))
	}
	var order []uint32
	for len(order) < 4 {
		http1test.Eventually(t, "all wait that have not finished", func() (holds bool) {
			waiting := 0
			for _, w := range all {
				if server.Waiting(w) {
					waiting++
				}
			}
			return waiting+int(finished.Load()) == 3+len(all)
		})
		const some = 1000
		p.must(p.WriteWindowUpdate(0, some))
		for got := 0; got < some && len(order) < 4; {
			f, ok := p.next().(*http2.DataFrame)
			if !ok {
				continue
			}
			if got += len(f.Data()); f.StreamEnded() {
				order = append(order, f.StreamID)
			}
			if left > 0 { // What was left of the window before.
				got, left = got-len(f.Data()), left-len(f.Data())
			}
		}
	}
	if fmt.Sprint(order) != "[11 9 13 7]" {
		t.Errorf("they came as %v", order)
	}
}
