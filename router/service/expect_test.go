package service_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// A client that waits for 100 Continue gets it when its body is read: by main, or the fallback alone.
func TestAFallbackReadsABodyThatMainDidNotRead(t *testing.T) {
	for _, wants := range []bool{false, true} {
		p := newProxy(t, map[string]*dynamic.Service{
			"top@file": {Failover: &dynamic.Failover{
				Service: "main", Fallback: "fallback",
				Errors: &dynamic.FailoverErrors{Status: []string{"503"}},
			}},
			"main@file": endpoint(t, func(w http.ResponseWriter, r *http.Request) {
				if wants {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}),
			"fallback@file": endpoint(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
		})
		conn, reader := p.dial()
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x.test\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n")
		if line, err := reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
			t.Fatal(line, err)
		}
		_, _ = reader.ReadString('\n')
		_, _ = io.WriteString(conn, "question")
		answer(t, reader, "question")
		// The connection is of use for another request.
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 5\r\n\r\nagain")
		answer(t, reader, "again")
		_, _ = io.WriteString(conn, "HEAD / HTTP/1.1\r\nHost: x.test\r\n\r\nGET / HTTP/1.1\r\nHost: x.test\r\n\r\n")
		if response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodHead}); err != nil ||
			response.StatusCode != http.StatusOK {
			t.Error(response, err)
		}
		answer(t, reader, "")
		_ = conn.Close()
	}
}

func answer(t *testing.T, reader *bufio.Reader, want string) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != want || response.StatusCode != http.StatusOK {
		t.Errorf("%d %q, %v, want %q", response.StatusCode, got, err, want)
	}
}
