package forward_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// mirror answers with the request, and with an error when a request has a field of another.
func mirror(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Id")
	if !strings.HasSuffix(r.URL.Path, "/"+id) || r.Header.Get("Cookie") != "id="+id {
		w.WriteHeader(http.StatusConflict)
		return
	}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "A-") && values[0] != id {
			w.WriteHeader(http.StatusConflict)
			return
		}
	}
	w.Header().Set("X-Echo", id)
	for i := range len(id) * 4 {
		w.Header().Set(fmt.Sprintf("B-%d", i), id)
	}
	_, _ = io.WriteString(w, id)
}

// fetch sends a request whose fields all hold the id, and returns what is wrong with the answer.
func fetch(conn net.Conn, reader *bufio.Reader, id string, fields int) error {
	lines := []string{"Host: shop.example.com", "X-Id: " + id, "Cookie: id=" + id}
	for i := range fields {
		lines = append(lines, fmt.Sprintf("A-%d: %s", i, id))
	}
	if _, err := io.WriteString(conn, message("GET /api/"+id+" HTTP/1.1", lines...)); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || string(body) != id || response.Header.Get("X-Echo") != id {
		return fmt.Errorf("%s was answered %d %v %q", id, response.StatusCode, response.Header, body)
	}
	for name, values := range response.Header {
		if strings.HasPrefix(name, "B-") && (len(values) != 1 || values[0] != id) {
			return fmt.Errorf("%s was answered with %s: %q", id, name, values)
		}
	}
	return nil
}

// TestTheChainKeepsRequestsApart lets many clients send at a time, whose requests are served with the same recycled
// memory.
func TestTheChainKeepsRequestsApart(t *testing.T) {
	const clients, rounds = 24, 120
	endpoint := httptest.NewServer(http.HandlerFunc(mirror))
	defer endpoint.Close()
	for name, middlewares := range map[string][]string{"bare": nil, "middlewares": {"strip", "add", "headers"}} {
		t.Run(name, func(t *testing.T) {
			tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			c := newChainOn(t, tcp, strings.TrimPrefix(endpoint.URL, "http://"), nil, middlewares...)
			defer c.close()
			var all sync.WaitGroup
			for client := range clients {
				all.Go(func() {
					conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", tcp.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = conn.Close() }()
					reader := bufio.NewReader(conn)
					for round := range rounds {
						if err := fetch(conn, reader, fmt.Sprintf("%d-%d", client, round), round%70); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// TestTheChainAllocatesLittle counts the objects that a request costs on its whole way, with a browser's headers.
func TestTheChainAllocatesLittle(t *testing.T) {
	for name, test := range cases() {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, test.answer, test.middlewares...)
			defer c.close()
			c.attempt(test.request, 1000)
			const each = 100
			// The connection itself costs some dozen.
			got := (testing.AllocsPerRun(20, func() { c.attempt(test.request, 2*each) }) -
				testing.AllocsPerRun(20, func() { c.attempt(test.request, each) })) / each
			if got > mostObjects+0.5 {
				t.Errorf("%.1f objects, at most %d", got, mostObjects)
			}
		})
	}
}
