package webhook_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/authority"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestOverloadIsRefusedQuickly has more reviews at once than may be answered: those that would wait for long are
// answered 429, and the others are answered.
func TestOverloadIsRefusedQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h, count := handler(func(input inject.Input) (inject.Result, error) {
			<-release
			return fixed(input)
		}, func(o *webhook.Options) { o.MaxConcurrent = 2 })
		var all sync.WaitGroup
		var mu sync.Mutex
		statuses := map[int]int{}
		began := time.Now()
		for range 1500 {
			all.Go(func() {
				recorder := post(h, "/inject", review())
				mu.Lock()
				defer mu.Unlock()
				statuses[recorder.Code]++
				if recorder.Code == http.StatusTooManyRequests && recorder.Header().Get("Retry-After") == "" {
					t.Error("Retry-After is missing")
				}
			})
		}
		synctest.Wait()
		mu.Lock()
		if statuses[http.StatusTooManyRequests] < 400 || time.Since(began) != 0 {
			t.Errorf("%v at once", statuses)
		}
		mu.Unlock()
		waited := time.NewTimer(2 * time.Second)
		<-waited.C
		synctest.Wait()
		close(release)
		all.Wait()
		if statuses[http.StatusOK] != 2 || statuses[http.StatusTooManyRequests] != 1498 ||
			time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", statuses, time.Since(began))
		}
		if !strings.Contains(count.all(), "refused 429") {
			t.Error("nothing was counted")
		}
		if recorder := post(h, "/inject", review()); recorder.Code != http.StatusOK {
			t.Errorf("afterwards: %d %s", recorder.Code, recorder.Body)
		}
	})
}

// serve serves a handler over TLS until the test ends, and returns the server, its address and how clients connect.
func serve(
	t *testing.T, h *webhook.Handler, ready func() error,
) (server *webhook.Server, address string, trust *tls.Config) {
	t.Helper()
	signer, err := authority.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.NewLeaf(signer, []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server = webhook.NewServer(webhook.ServerOptions{
		Handler:     h,
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return leaf, nil },
		Ready:       ready, Logger: telemetry.Discard{},
	})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server, listener.Addr().String(), &tls.Config{RootCAs: poolOf(signer), MinVersion: tls.VersionTLS12}
}

// TestServer serves reviews and pages over TLS until it is stopped, and drains.
func TestServer(t *testing.T) {
	ready := errors.New("not yet")
	h, _ := handler(fixed, nil)
	server, address, trust := serve(t, h, func() error { return ready })
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: trust}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	page := func(method, path, body string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // It is read.
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := page(http.MethodGet, "/ready", ""); status != 503 || !strings.Contains(text, "not yet") {
		t.Errorf("/ready: %d %s", status, text)
	}
	ready = nil
	for path, want := range map[string]int{"/ready": 200, "/healthz": 200, "/": 404} {
		if status, text := page(http.MethodGet, path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	status, text := page(http.MethodPost, "/inject/cluster/one", review())
	if status != 200 || !strings.Contains(text, "u-1") {
		t.Errorf("a review: %d %s", status, text)
	}
	server.Drain()
	if status, _ := page(http.MethodGet, "/ready", ""); status != 503 {
		t.Errorf("/ready while it drains: %d", status)
	}
	if status, _ := page(http.MethodPost, "/inject", review()); status != 200 {
		t.Errorf("a review while it drains: %d", status)
	}
	old := &tls.Dialer{Config: &tls.Config{
		RootCAs: trust.RootCAs, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10, //nolint:gosec // It is refused.
	}}
	if connection, err := old.DialContext(t.Context(), "tcp", address); err == nil {
		_ = connection.Close()
		t.Error("TLS 1.1 is accepted")
	}
}

// TestDrainEndsConnections has reviews over HTTP/1.1, as API servers send them: while the server drains, each answer
// ends its connection.
func TestDrainEndsConnections(t *testing.T) {
	h, _ := handler(fixed, nil)
	server, address, trust := serve(t, h, func() error { return nil })
	transport := &http.Transport{TLSClientConfig: trust}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	closes := func() bool {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/inject",
			strings.NewReader(review()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // It is read.
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("a review: %d, %v", response.StatusCode, err)
		}
		return response.Close
	}
	if closes() {
		t.Error("a connection ends before the server drains")
	}
	server.Drain()
	for range 2 {
		if !closes() {
			t.Error("a connection stays while the server drains")
		}
	}
}
