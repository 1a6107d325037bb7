package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
)

// longHeader returns a header of about size bytes in many fields, and one large value.
func longHeader(size int) http.Header {
	header := http.Header{"Large": {strings.Repeat("l", size/2)}}
	for i := range size / 2 / 1000 {
		header.Add(fmt.Sprintf("X-Part-%d", i), strings.Repeat("p", 985))
	}
	return header
}

func upstreamTo(t *testing.T, address string, config *tls.Config) *client.Upstream {
	t.Helper()
	upstream := new(client.Resources).NewUpstream(&client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
		TLS: config,
	})
	t.Cleanup(upstream.CloseIdleConnections)
	return upstream
}

// TestLongHeads sends heads that are written in pieces, with and without a body, more than once over a connection.
func TestLongHeads(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				total := 0
				for _, values := range r.Header {
					total += len(values[0])
				}
				_, _ = fmt.Fprintf(w, "%d fields, %d bytes, body %q, %v, %s", len(r.Header), total, body, err, r.RemoteAddr)
			}))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			var config *tls.Config
			if scheme == "http" {
				server.Start()
			} else {
				server.StartTLS()
				config = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
			}
			t.Cleanup(server.Close)
			upstream := upstreamTo(t, server.Listener.Addr().String(), config)
			var first string
			for i, body := range []string{"", "hello", ""} {
				var reader io.Reader
				if body != "" {
					reader = strings.NewReader(body)
				}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://a.example/", reader)
				if err != nil {
					t.Fatal(err)
				}
				r.Header = longHeader(200_000)
				response, err := upstream.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				// Content-Length of 1 digit comes on top.
				want := fmt.Sprintf("102 fields, 198501 bytes, body %q, <nil>, ", body)
				peer, ok := strings.CutPrefix(string(answer), want)
				if err != nil || !ok {
					t.Fatalf("request %d: %s, %v, want %s", i, answer, err, want)
				}
				if i == 0 {
					first = peer
				} else if peer != first {
					t.Errorf("request %d came over another connection", i)
				}
			}
		})
	}
}

// TestHeadsAreNotKept counts the memory of requests whose endpoint has read the head and does not answer.
func TestHeadsAreNotKept(t *testing.T) {
	const requests, size = 64, 512 << 10
	read := make(chan struct{}, requests)
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	certificates := server.TLS.Certificates
	server.Close()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure := tls.NewListener(listener, &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := secure.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				reader := bufio.NewReader(conn)
				for line := ""; line != "\r\n" && err == nil; line, err = reader.ReadString('\n') {
				}
				read <- struct{}{}
				_, _ = io.Copy(io.Discard, reader)
			})
		}
	})
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
	upstream := upstreamTo(t, listener.Addr().String(), config)
	header := longHeader(size)
	ctx, cancel := context.WithCancel(t.Context())
	before := heap()
	for range requests {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		work.Go(func() {
			if response, err := upstream.RoundTrip(r); err == nil {
				_ = response.Body.Close()
				t.Error("an answer came from an endpoint that does not answer")
			}
		})
	}
	for range requests {
		<-read
	}
	// Connections with TLS on both sides, their buffers and those of the test are below 100 KiB for each.
	if held := heap() - before; held > requests*100<<10 {
		t.Errorf("%d requests with a head of %d KiB hold %d KiB", requests, size>>10, held>>10)
	}
	cancel()
	_ = listener.Close()
	work.Wait()
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // It is less than the machine has.
}
