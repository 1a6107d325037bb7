package client_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/http2/wire"
)

// TestEndWithoutWindow ends a body of unknown length by an empty DATA although the window is below 0.
func TestEndWithoutWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		reader, writer := io.Pipe()
		got := g.send(request(context.Background(), "POST /", reader))
		p := g.accept()
		p.request(1)
		_, _ = io.WriteString(writer, "hello")
		expect[*http2.DataFrame](p)
		p.must(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}))
		p.must(p.WritePing(false, [8]byte{}))
		expect[*http2.PingFrame](p)
		_ = writer.Close()
		if f := expect[*http2.DataFrame](p); !f.StreamEnded() || len(f.Data()) > 0 {
			t.Fatalf("got %v", f)
		}
		p.head(1, true, ":status: 200")
		wait(t, got).want(t, 200, "")
		g.idle()
	})
}

// failingWriter takes some bytes and then fails.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	if w.left -= n; n < len(p) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// TestWindowOfDestinationThatFails gives the window of the connection back for bytes that were not written because the
// destination failed.
func TestWindowOfDestinationThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		const body = 60_000
		var p *peer
		for n := range 3 {
			got := g.begin(request(context.Background(), "GET /", nil))
			if p == nil {
				p = g.accept()
			}
			id := uint32(1 + 2*n)
			p.request(id)
			p.head(id, false, ":status: 200")
			b := wait(t, got)
			for range body / 10_000 {
				p.data(id, false, strings.Repeat("x", 10_000))
			}
			synctest.Wait()
			_, err := b.response.Body.(io.WriterTo).WriteTo(&failingWriter{left: 100})
			if refused, ok := errors.AsType[*http1.DestinationError](err); !ok || !errors.Is(refused.Err, io.ErrClosedPipe) {
				t.Fatal(err)
			}
			_ = b.response.Body.Close()
			p.reset(id, http2.ErrCodeCancel)
			if used := client.StateOf(g.upstream).Used; used != int64((n+1)*body) {
				t.Fatalf("%d bytes are to be given back", used)
			}
		}
		g.idle()
	})
}

// TestPaddingAlone gives the window back for DATA that has nothing but padding.
func TestPaddingAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		got := g.get("/")
		p := g.accept()
		p.request(1)
		p.head(1, false, ":status: 200")
		synctest.Wait()
		seen := make(chan int64, 1)
		go func() {
			frame, err := p.ReadFrame()
			for ; err == nil; frame, err = p.ReadFrame() {
				if f, ok := frame.(*http2.WindowUpdateFrame); ok && f.StreamID == 1 {
					break
				}
			}
			if err == nil {
				seen <- int64(frame.(*http2.WindowUpdateFrame).Increment)
			}
			p.sink()
		}()
		for range client.StreamWindow/256 - 1 {
			p.must(p.WriteDataPadded(1, false, nil, make([]byte, 255)))
		}
		if n := wait(t, seen); n < client.StreamWindow/2 {
			t.Errorf("%d bytes were given back", n)
		}
		p.data(1, true, "hello")
		wait(t, got).want(t, 200, "hello")
	})
}

// TestBeyondTheWindow resets a stream of which more comes than was allowed, and keeps what an endpoint may send.
func TestBeyondTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		got := g.begin(request(context.Background(), "GET /", nil))
		p := g.accept()
		p.request(1)
		p.head(1, false, ":status: 200")
		b := wait(t, got)
		for range 4 {
			p.data(1, false, strings.Repeat("x", 16383))
		}
		p.data(1, false, "123")
		p.data(1, false, "4")
		p.reset(1, http2.ErrCodeFlowControl)
		body, err := io.ReadAll(b.response.Body)
		if fault, ok := errors.AsType[*wire.Error](err); !ok || fault.Code != wire.FlowControlError {
			t.Errorf("got %d bytes, %v", len(body), err)
		}
		g.idle()
		if used := client.StateOf(g.upstream).Used; used != client.StreamWindow+1 {
			t.Errorf("%d bytes are to be given back", used)
		}
		// What was on its way is given back too.
		for range 70 {
			p.data(1, false, strings.Repeat("x", 16000))
		}
		synctest.Wait()
		if used := client.StateOf(g.upstream).Used; used >= client.ConnCredit {
			t.Errorf("%d bytes are to be given back", used)
		}
	})
}
