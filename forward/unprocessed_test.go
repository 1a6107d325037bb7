package forward_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// refuser is an endpoint of h2c that answers to each frame of a body.
func refuser(t *testing.T, answer func(conn net.Conn, stream uint32)) dynamic.Server {
	t.Helper()
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { refuse(conn.Conn, answer) })
	return dynamic.Server{URL: "h2c://" + endpoint.Address()}
}

// The types of frames (RFC 9113 section 6).
const (
	dataFrame     = 0
	resetFrame    = 3
	settingsFrame = 4
	goAwayFrame   = 7
)

func frame(kind byte, stream uint32, payload ...uint32) []byte {
	text := []byte{0, 0, byte(4 * len(payload)), kind, 0}
	for _, word := range append([]uint32{stream}, payload...) {
		text = binary.BigEndian.AppendUint32(text, word)
	}
	return text
}

func refuse(conn net.Conn, answer func(conn net.Conn, stream uint32)) {
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	_, _ = conn.Write(frame(settingsFrame, 0))
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, conn, length); err != nil {
			return
		}
		if head[3] != dataFrame {
			continue
		}
		answer(conn, binary.BigEndian.Uint32(head[5:]))
	}
}

// TestUnprocessedRequests go to another endpoint whatever their method, although some of them was sent.
func TestUnprocessedRequests(t *testing.T) {
	for name, answer := range map[string]func(stream uint32) []byte{
		"refused":    func(stream uint32) []byte { return frame(resetFrame, stream, 7) },
		"going away": func(uint32) []byte { return frame(goAwayFrame, 0, 0, 0) }, // no stream was processed, no error
	} {
		t.Run(name, func(t *testing.T) {
			endpoints := newEndpoints(good)
			healthy := listen(t, "h2c", endpoints, nil)
			answering := func(conn net.Conn, stream uint32) { _, _ = conn.Write(answer(stream)) }
			g := newProxy(t, setup{
				server: refuser(t, answering), more: []dynamic.Server{{URL: "h2c" + healthy.URL[len("http"):]}},
				options: forward.Options{Retry: retryAll()},
			})
			tries, requests := 0, 0
			for ; tries == requests && requests < 100; requests++ {
				response, body := g.do(t, request(t, http.MethodPost, g.url, bytes.NewReader([]byte("body"))))
				unharmed(t, response, body, `POST / "body" <nil>`)
				tries += g.record(t).Tries
			}
			equal(t, "tries", fmt.Sprint(tries), fmt.Sprint(requests+1))
			g.settledDown(t)
		})
	}
}
