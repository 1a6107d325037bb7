package service_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Trailers come behind a body, to each reader: the main service, the fallback after it, and mirrors. A client need
// not announce them.
func TestTrailersReachAllServices(t *testing.T) {
	seen := make(chan string, 10)
	reader := func(name string, status int) *dynamic.Service {
		return endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			seen <- fmt.Sprintf("%s %s %s %s%v", name, body, r.Trailer.Get("X-Sum"), r.Trailer.Get("X-Other"), err)
			w.WriteHeader(status)
		})
	}
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Mirroring: &dynamic.Mirroring{Service: "failover", Mirrors: []dynamic.MirrorService{{
			Name:    "mirror",
			Percent: 100,
		}}}},
		"failover@file": {Failover: &dynamic.Failover{
			Service: "main", Fallback: "fallback",
			Errors: &dynamic.FailoverErrors{Status: []string{"503"}},
		}},
		"main@file":     reader("main", http.StatusServiceUnavailable),
		"fallback@file": reader("fallback", http.StatusOK),
		"mirror@file":   reader("mirror", http.StatusOK),
	})
	conn, responses := p.dial()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+
		"4\r\nbody\r\n0\r\nX-Sum: 42\r\nX-Other: 43\r\n\r\n")
	response, err := http.ReadResponse(responses, nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	for _, name := range []string{"main", "fallback", "mirror"} {
		if got, want := <-seen, name+" body 42 43<nil>"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
