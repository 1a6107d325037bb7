package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// longHeader returns a header of about size bytes in many fields, and one large value.
func longHeader(size int) http.Header {
	header := http.Header{"Large": {strings.Repeat("l", size/2)}}
	for i := range size / 2 / 1000 {
		header.Add(fmt.Sprintf("X-Part-%d", i), strings.Repeat("p", 985))
	}
	return header
}

func secureConfig(config *client.Config) {
	config.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
}

// TestLongHeads sends heads that are written in pieces, with and without a body, more than once over a connection.
func TestLongHeads(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			wrote := make(chan struct{}, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				late := time.NewTimer(http1test.Timeout)
				defer late.Stop()
				select { // Before that, the connection may not be kept.
				case <-wrote:
				case <-r.Context().Done():
				case <-late.C:
					t.Error("WroteRequest is not called")
				}
				total := 0
				for _, values := range r.Header {
					total += len(values[0])
				}
				_, _ = fmt.Fprintf(w, "%d fields, %d bytes, body %q, %v, %s", len(r.Header), total, body, err, r.RemoteAddr)
			}))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			var config func(*client.Config)
			if scheme == "http" {
				server.Start()
			} else {
				server.StartTLS()
				config = secureConfig
			}
			t.Cleanup(server.Close)
			upstream := testUpstream(t, server.Listener.Addr().String(), config)
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
				trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { wrote <- struct{}{} }}
				response, err := upstream.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
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
	certificate := secureEndpoint(t, false, http.NotFoundHandler())
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn = secured(conn.Conn, certificate.TLS)
		conn.Head()
		read <- struct{}{}
		_, _ = io.Copy(io.Discard, conn.R)
	})
	upstream := testUpstream(t, endpoint.Address(), secureConfig)
	header := longHeader(size)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	before := http1test.Heap()
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
	if held := http1test.Heap() - before; held > requests*100<<10 {
		t.Errorf("%d requests with a head of %d KiB hold %d KiB", requests, size>>10, held>>10)
	}
	cancel()
	work.Wait()
}
