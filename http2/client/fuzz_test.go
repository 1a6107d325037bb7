package client_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/client"
)

// FuzzEndpoint has an endpoint send any bytes while requests are in flight, and leave.
func FuzzEndpoint(f *testing.F) {
	add := func(write func(p *peer)) {
		var sent bytes.Buffer
		p := &peer{Framer: http2.NewFramer(&sent, nil)}
		p.AllowIllegalWrites = true
		write(p)
		f.Add(sent.Bytes())
	}
	ok := []byte("\x88\x01\x01a")
	headers := func(p *peer, id uint32, end bool) {
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: ok, EndHeaders: true, EndStream: end})
	}
	add(func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		headers(p, 1, false)
		_ = p.WriteDataPadded(1, true, []byte("body"), make([]byte, 9))
		headers(p, 3, true)
		_ = p.WriteWindowUpdate(5, 100)
		_ = p.WriteRSTStream(5, http2.ErrCodeRefusedStream)
		_ = p.WriteGoAway(7, 0, nil)
	})
	add(func(p *peer) {
		_ = p.WriteSettings(
			http2.Setting{ID: http2.SettingHeaderTableSize}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x08\x03103"), EndHeaders: true})
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: ok[:1]})
		_ = p.WriteContinuation(1, true, ok[1:])
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: ok[1:], EndHeaders: true, EndStream: true})
		_ = p.WritePing(false, [8]byte{})
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams})
		_ = p.WriteGoAway(3, 2, nil)
		_ = p.WriteGoAway(1, 0, nil)
	})
	f.Fuzz(func(t *testing.T, sent []byte) {
		var resources client.Resources
		client.Poison(&resources)
		var playing sync.WaitGroup
		upstream := resources.NewUpstream(&client.Config{
			ContinueTimeout: time.Millisecond, ResponseHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
			Dial: func(context.Context) (net.Conn, error) {
				near, far := net.Pipe()
				playing.Go(func() { play(far, sent) })
				return near, nil
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), http1test.Timeout)
		defer cancel()
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				r := request(ctx, []string{"GET /", "POST /", "PUT /", "HEAD /"}[n], nil)
				switch n {
				case 1:
					r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", 70_000)))
					r.ContentLength = -1
					r.Trailer = http.Header{"A": {"b"}}
				case 2:
					r = request(ctx, "PUT /", strings.NewReader("hello"))
					r.Header.Set("Expect", "100-continue")
				}
				response, err := upstream.Do(new(client.RoundTrip), r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, struct{ io.Reader }{response.Body})
				_ = response.Body.Close()
			})
		}
		all.Wait()
		if ctx.Err() != nil {
			t.Error("a request did not end with its connection")
		}
		s := client.StateOf(upstream)
		if s.Streams != 0 || s.Reserved != 0 || client.Windows(&resources) != 0 {
			t.Errorf("left: %+v", s)
		}
		upstream.Close()
		playing.Wait()
	})
}

// play sends bytes once a request has come, and leaves.
func play(far net.Conn, sent []byte) {
	defer far.Close() //nolint:errcheck // a test's
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(io.Discard, far) })
	_, _ = far.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	_, _ = far.Write(sent)
	_ = far.Close()
	read.Wait()
}
