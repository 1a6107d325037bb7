package forward_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/telemetry"
)

// whims starts an endpoint that answers with the path of the request, in one of many good and bad ways, and sometimes
// before it has read the request.
func whims(t *testing.T) dynamic.Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close() //nolint:errcheck // a test's
				_ = conn.SetDeadline(time.Now().Add(eventTimeout))
				for reader := bufio.NewReader(conn); whim(conn, reader); {
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return dynamic.Server{URL: "http://" + listener.Addr().String()}
}

// whim serves one request, and reports whether the connection stays.
func whim(conn net.Conn, reader *bufio.Reader) bool {
	head, err := http.ReadRequest(reader)
	if err != nil {
		return false
	}
	early := rand.IntN(4) == 0
	if !early {
		if _, err := io.Copy(io.Discard, head.Body); err != nil {
			return false
		}
	}
	if rand.IntN(5) == 0 {
		_, _ = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
	}
	text := strings.Repeat(head.URL.Path+".", 1+rand.IntN(3000))
	const ok = "HTTP/1.1 200 OK\r\n"
	length := func(n int) string { return fmt.Sprintf(ok+"Content-Length: %d\r\n\r\n%s", n, text) }
	ways := []struct {
		response string
		stays    bool
	}{
		{length(len(text)), true},
		{length(len(text)), true},
		{fmt.Sprintf(ok+"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(text), text), true},
		{length(len(text)) + ok + "Content-Length: 4\r\n\r\nevil", true},
		{ok + "\r\n" + text, false},
		{length(len(text)), false},
		{length(len(text) + 10), false},
		{"", false},
	}
	way := ways[rand.IntN(len(ways))]
	_, _ = io.WriteString(conn, way.response)
	if !way.stays {
		if rand.IntN(2) == 0 {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		return false
	}
	if early {
		_, err = io.Copy(io.Discard, head.Body)
	}
	return err == nil
}

// leave begins a request and closes the connection.
func leave(g *rig, path string) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", g.address)
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // a test's
	_, _ = io.WriteString(conn, []string{
		"GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
		"POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	}[rand.IntN(3)])
	if rand.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
}

// TestNoClientGetsAnothersAnswer has clients and an endpoint do all that goes wrong, many at a time.
func TestNoClientGetsAnothersAnswer(t *testing.T) {
	const clients, requests = 8, 60
	for _, interval := range []time.Duration{0, 5 * time.Millisecond, -1} {
		t.Run(interval.String(), func(t *testing.T) {
			var all, forgetting sync.WaitGroup
			records := make(chan telemetry.Record)
			forgetting.Go(func() {
				for range records { // They are dropped.
				}
			})
			t.Cleanup(func() {
				close(records)
				forgetting.Wait()
			})
			g := newProxy(t, setup{server: whims(t), options: forward.Options{FlushInterval: interval}, records: records})
			for number := range clients {
				client := clientOf(t, "h1", nil)
				all.Go(func() {
					for n := range requests {
						path := fmt.Sprintf("/w%d-%d", number, n)
						if rand.IntN(4) == 0 {
							leave(g, path)
							continue
						}
						send(t, client, g.url, path)
					}
				})
			}
			all.Wait()
		})
	}
}

// send sends a request and looks at whose answer comes.
func send(t *testing.T, client *http.Client, url, path string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	switch rand.IntN(3) {
	case 0:
		method, body = http.MethodPut, strings.NewReader(strings.Repeat("x", rand.IntN(200_000)))
	case 1:
		// Its length is not known, and it looks like requests.
		method, body = http.MethodPost,
			io.MultiReader(strings.NewReader(strings.Repeat("GET /evil HTTP/1.1\r\nHost: a\r\n\r\n", rand.IntN(2000))))
	}
	response, err := client.Do(request(t, method, url+path, body))
	if err != nil {
		return
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode == http.StatusOK && err == nil && strings.ReplaceAll(string(text), path+".", "") != "" {
		t.Errorf("%s got %.100q", path, text)
	}
}
