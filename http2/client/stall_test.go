package client_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http2/client"
)

// TestEndpointThatNeverReads notices the end of requests although nothing can be written, and bounds what waits.
func TestEndpointThatNeverReads(t *testing.T) {
	g := newSocketRig(t, client.Config{})
	large := strings.Repeat("~", 40<<10)
	for range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		r := request(ctx, "GET /", nil)
		r.Header.Set("Large", large)
		got := g.send(r)
		for client.StateOf(g.upstream).Streams == 0 {
			runtime.Gosched()
		}
		cancel()
		wait(t, got).fails(t, context.Canceled, true)
	}
	connections := g.upstream.Connections()
	if connections < 2 {
		t.Errorf("%d connections", connections)
	}
	if n := client.StateOf(g.upstream).Pending; n > connections*(client.MaxControl+2*len(large)) {
		t.Errorf("%d bytes wait", n)
	}
	g.idle()
}

// TestWriteTimeout ends a connection whose endpoint reads nothing any more.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		first := g.get("/")
		p := g.accept()
		p.request(1)
		begun := time.Now()
		second := g.get("/")
		for _, got := range []<-chan answer{first, second} {
			a := <-got
			if a.head == nil || !a.trip.Sent() {
				t.Errorf("got %d, %v", a.status, a.head)
			}
		}
		if took := time.Since(begun); took < 30*time.Second || took > time.Minute {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if n := g.upstream.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
		g.idle()
	})
}

// TestLastWrite closes a connection soon that has ended, although the endpoint does not read the last frames.
func TestLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		got := g.get("/")
		p := g.accept()
		p.request(1)
		p.head(1, true, ":status: 200")
		wait(t, got).want(t, 200, "")
		p.must(p.WritePing(false, [8]byte{}))
		expect[*http2.PingFrame](p)
		pass(10 * time.Minute)
		begun := time.Now()
		g.upstream.CloseIdleConnections()
		_ = p.WritePing(false, [8]byte{1})
		for {
			// A write fails once the connection is closed.
			if p.WritePing(false, [8]byte{1}) != nil {
				break
			}
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestUploadToEndpointThatStopsReading ends an upload with its request.
func TestUploadToEndpointThatStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		got := g.send(request(ctx, "POST /", streamed(strings.NewReader(strings.Repeat("x", 1<<20)))))
		p := g.accept(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		p.request(1)
		synctest.Wait()
		if n := client.StateOf(g.upstream).Pending; n > client.MaxOut {
			t.Errorf("%d bytes wait", n)
		}
		cancel()
		wait(t, got).fails(t, context.Canceled, true)
		synctest.Wait()
		g.idle()
	})
}
