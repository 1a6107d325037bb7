package forward_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/sluiceproxy/sluice/forward"
	ownwebsocket "github.com/sluiceproxy/sluice/httpio/websocket"
)

// TestWebSocket goes through HTTP/1.1, since that is what clients speak; endpoints that prefer HTTP/2 get HTTP/1.1 too.
func TestWebSocket(t *testing.T) {
	for _, upstream := range []string{"h1", "h2", "h2c"} {
		t.Run(upstream, func(t *testing.T) {
			g := newRig(t, setup{upstream: upstream, options: forward.Options{PassHostHeader: true}},
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"echo"}})
					if err != nil {
						t.Error(err)
						return
					}
					conn.SetReadLimit(-1)
					for {
						kind, message, err := conn.Read(r.Context())
						if err != nil {
							return
						}
						if err := conn.Write(r.Context(), kind, message); err != nil {
							return
						}
					}
				}))
			ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
			defer cancel()
			conn, response, err := websocket.Dial(ctx, g.url, &websocket.DialOptions{
				HTTPClient:   g.client,
				Subprotocols: []string{"echo"},
			})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "status", response.StatusCode, http.StatusSwitchingProtocols)
			conn.SetReadLimit(-1)
			for _, message := range []string{"hello", strings.Repeat("0123456789", 100_000)} {
				if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
					t.Fatal(err)
				}
				_, got, err := conn.Read(ctx)
				if err != nil || string(got) != message {
					t.Fatalf("%d bytes came back as %d, %v", len(message), len(got), err)
				}
			}
			if member := memberOf(g.pool); member.Endpoint().InFlight() != 1 {
				t.Errorf("%d requests in flight", member.Endpoint().InFlight())
			}
			if err := conn.Close(websocket.StatusNormalClosure, "bye"); err != nil {
				t.Errorf("close: %v", err)
			}
			record := g.record(t)
			equal(t, "record", fmt.Sprint(record.Status, record.Reason), "101")
		})
	}
}

const upgradeRequest = "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: chat\r\n\r\n"

// chat is an endpoint that switches to a protocol of its own.
func chat(then func(conn net.Conn, reader io.Reader)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			w.WriteHeader(http.StatusUpgradeRequired)
			return
		}
		defer conn.Close() //nolint:errcheck // a test's
		_, _ = fmt.Fprintf(conn,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: %s\r\nX-Chat: 1\r\n\r\n",
			r.Header.Get("Upgrade"))
		then(conn, buffered.Reader)
	})
}

func switched(t *testing.T, g *rig) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	conn, reader := g.raw(t, upgradeRequest)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "switch", []any{response.StatusCode, response.Header},
		[]any{101, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"chat"}, "X-Chat": {"1"}}})
	return conn.(*net.TCPConn), reader
}

// TestUpgradeHalfCloses answers only when the client has sent its last byte.
func TestUpgradeHalfCloses(t *testing.T) {
	g := newRig(t, setup{}, chat(func(conn net.Conn, reader io.Reader) {
		sent, err := io.ReadAll(reader)
		_, _ = fmt.Fprintf(conn, "got %s, %v", sent, err)
	}))
	conn, reader := switched(t, g)
	_, _ = io.WriteString(conn, "hello")
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(reader)
	equal(t, "answer", fmt.Sprint(string(answer), err), "got hello, <nil><nil>")
	equal(t, "record", g.record(t).Status, 101)
}

// TestUpgradeAfterHTTP2 upgrades at an endpoint that has answered over HTTP/2 before.
func TestUpgradeAfterHTTP2(t *testing.T) {
	g := newRig(t, setup{upstream: "h2"}, chat(func(conn net.Conn, _ io.Reader) { _, _ = io.WriteString(conn, "hello") }))
	response, _ := g.get(t, "/")
	equal(t, "first", response.StatusCode, http.StatusUpgradeRequired)
	_, reader := switched(t, g)
	answer, err := io.ReadAll(reader)
	equal(t, "answer", fmt.Sprint(string(answer), err), "hello<nil>")
}

func TestUpgradeEndsWithEitherSide(t *testing.T) {
	ended := make(chan struct{}, 1)
	g := newRig(t, setup{}, chat(func(_ net.Conn, reader io.Reader) {
		_, _ = io.Copy(io.Discard, reader)
		ended <- struct{}{}
	}))
	conn, _ := switched(t, g)
	_ = conn.Close()
	wait(t, "the endpoint's side", ended)
	g.record(t)

	g = newRig(t, setup{}, chat(func(conn net.Conn, _ io.Reader) { _, _ = io.WriteString(conn, "bye") }))
	conn, reader := switched(t, g)
	if rest, err := io.ReadAll(reader); string(rest) != "bye" || err != nil {
		t.Errorf("the client got %q, %v", rest, err)
	}
	_ = conn.Close()
	g.record(t)
}

func TestUpgradeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(with(ctx, r.Context())))
		})
	}}, chat(func(_ net.Conn, reader io.Reader) { _, _ = io.Copy(io.Discard, reader) }))
	_, reader := switched(t, g)
	cancel()
	if rest, err := io.ReadAll(reader); len(rest) > 0 || err != nil {
		t.Errorf("the client got %q, %v", rest, err)
	}
	g.record(t)
}

// with has the values of one context and the end of another.
func with(end, values context.Context) context.Context { return valued{end, values} }

type valued struct {
	context.Context
	values context.Context
}

func (v valued) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.values.Value(key)
}

func TestUpgradeIsAnsweredOrDropped(t *testing.T) {
	seen := make(chan http.Header, 1)
	g := newRig(t, setup{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.Header().Set("Upgrade", "tls/1.3")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusUpgradeRequired)
	}))
	for name, test := range map[string]struct{ request, upgrade string }{
		"requested": {upgradeRequest, "chat"},
		"h2c": {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " +
			"h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", ""},
		"h2c, chat":  {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c, chat\r\n\r\n", "chat"},
		"not listed": {"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: chat\r\n\r\n", ""},
		"with body": {
			"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\nContent-Length: 4\r\n\r\nbody",
			"",
		},
		"HTTP/1.0": {"GET / HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n", ""},
	} {
		_, reader := g.raw(t, test.request)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		header := <-seen
		equal(t, name+": upgrade", header.Get("Upgrade"), test.upgrade)
		if header["Http2-Settings"] != nil {
			t.Errorf("%s: HTTP2-Settings was forwarded", name)
		}
		equal(t, name+": answer", fmt.Sprint(response.StatusCode, response.Header.Get("Upgrade")), "426tls/1.3")
	}
}

func TestUpgradeToSomethingElse(t *testing.T) {
	for name, answer := range map[string]string{
		"other":   "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
		"unnamed": "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	} {
		g := newProxy(t, setup{server: scripted(t, says(answer))})
		_, reader := g.raw(t, upgradeRequest)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, response.StatusCode, http.StatusBadGateway)
	}
}

// TestWebSocketOfHTTP2 has endpoints answer the key that stands for a client of HTTP/2 in a wrong way.
func TestWebSocketOfHTTP2(t *testing.T) {
	for name, answer := range map[string]string{"no answer": "", "another answer": "Sec-WebSocket-Accept: a\r\n"} {
		t.Run(name, func(t *testing.T) {
			server := scripted(t, says("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"+
				answer+"\r\n"))
			g := newProxy(t, setup{front: "h2c", server: server, around: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Body = http.NoBody
					ownwebsocket.Offer(r.Header)
					next.ServeHTTP(w, r)
				})
			}})
			response, _ := g.get(t, "/")
			equal(t, "status", response.StatusCode, http.StatusBadGateway)
			if record := g.record(t); !strings.Contains(record.Reason, "Sec-WebSocket-Accept") {
				t.Errorf("the reason is %q", record.Reason)
			}
		})
	}
}
