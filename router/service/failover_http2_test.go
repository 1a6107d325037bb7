package service_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// A body of HTTP/2 would end with a deadline. An endpoint that refuses before it has read the body, or answers,
// interrupts the read from the client: the fallback reads on where there is one to answer, and otherwise the client has
// its answer.
func TestAnInterruptedBodyOfHTTP2GoesToTheFallback(t *testing.T) {
	asked := make(chan struct{}, 1)
	status := make(chan int, 1)
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Failover: &dynamic.Failover{
			Service: "main", Fallback: "fallback",
			Errors: &dynamic.FailoverErrors{Status: []string{"503"}},
		}},
		"main@file": endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(<-status)
		}),
		"fallback@file": endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprint(w, string(body), err)
		}),
	})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	for _, row := range []struct {
		status int
		want   string
	}{{http.StatusServiceUnavailable, "0123456789ab<nil>"}, {http.StatusOK, ""}} {
		body, client := io.Pipe()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+"/", body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(client, "0123")
			status <- row.status
			select {
			case <-asked: // Until then main's reader waits for what is to come.
			case <-ctx.Done():
			}
			_, _ = io.WriteString(client, "456789ab")
			_ = client.Close()
		}()
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(got) != row.want || response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
			t.Errorf("main answers %d: %s %d %q, %v", row.status, response.Proto, response.StatusCode, got, err)
		}
	}
}
