package server_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// TestUnreadBodies has handlers not read what has come, and looks at the window of the connection, which would be
// exhausted if any of it was not given back.
func TestUnreadBodies(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"returns":              func(http.ResponseWriter, *http.Request) {},
		"answers":              hello,
		"reads a byte":         func(_ http.ResponseWriter, r *http.Request) { _, _ = r.Body.Read(make([]byte, 1)) },
		"closes":               func(_ http.ResponseWriter, r *http.Request) { _ = r.Body.Close() },
		"panics":               func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"waits for the client": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 100)
			g := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/whole" {
					body, _ := io.ReadAll(r.Body)
					_, _ = w.Write(body)
					return
				}
				<-arrived
				handler(w, r)
			})
			p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			p.must(p.WriteWindowUpdate(0, 1<<20))
			const frame = 16 << 10
			for i := range uint32(3 * server.ConnWindow / server.StreamWindow) {
				id := nth(i)
				p.request(id, "POST", "/", false)
				for range server.StreamWindow / frame {
					p.must(p.WriteData(id, false, make([]byte, frame)))
				}
				p.must(p.WritePing(false, [8]byte{1}))
				p.flush()
				for { // What was sent has been read then.
					frame, err := p.ReadFrame()
					p.must(err)
					if _, ok := frame.(*http2.PingFrame); ok {
						break
					}
					if f, ok := frame.(*http2.GoAwayFrame); ok {
						t.Fatalf("stream %d: GOAWAY %v", id, f.ErrCode)
					}
				}
				arrived <- struct{}{}
				if name == "waits for the client" {
					p.must(p.WriteRSTStream(id, http2.ErrCodeCancel))
				}
				p.flush()
				http1test.Eventually(t, "the handler ends", func() bool { return server.Running(g.server) == 0 })
			}
			body := bytes.Repeat([]byte("x"), 100)
			p.request(9999, "POST", "/whole", false)
			p.must(p.WriteData(9999, true, body))
			p.flush()
			for {
				frame, err := p.ReadFrame()
				p.must(err)
				if f, ok := frame.(*http2.DataFrame); ok && f.StreamID == 9999 {
					if !bytes.Equal(f.Data(), body) {
						t.Errorf("got %q", f.Data())
					}
					return
				}
			}
		})
	}
}
