//go:build unix

package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// benchEndpoint names the variable that makes TestBenchEndpoint an endpoint for benchmarks, in a process of its own:
// its work must not count. Without it the test makes sure that the endpoint answers as the benchmarks expect.
const benchEndpoint = "HTTP1_BENCH_ENDPOINT"

func TestBenchEndpoint(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		for {
			head := conn.Head()
			if head == "" {
				return
			}
			conn.Body(head)
			conn.Say(benchResponse(strings.HasPrefix(head, "GET /browser")))
		}
	})
	if os.Getenv(benchEndpoint) != "" {
		_, _ = io.WriteString(os.Stdout, endpoint.Address()+"\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", endpoint.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET /browser HTTP/1.1\r\nHost: bench.test\r\n\r\n")
	want := benchResponse(true)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("the endpoint sends %q, %v", got, err)
	}
}

func benchResponse(browser bool) string {
	head := "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: 128\r\n"
	if browser {
		for _, name := range []string{
			"Date", "Etag", "Vary", "Cache-Control", "X-Frame-Options", "Referrer-Policy", "Link",
			"X-Request-Id", "Age", "Via", "Accept-Ranges", "Set-Cookie",
		} {
			head += name + ": " + strings.Repeat("v", 20) + "\r\n"
		}
	}
	return head + "\r\n" + strings.Repeat("x", 128)
}

func startBenchEndpoint(b *testing.B) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	command := exec.CommandContext(b.Context(), self, "-test.run=^TestBenchEndpoint$")
	command.Env = append(os.Environ(), benchEndpoint+"=1")
	input, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// BenchmarkClient compares one exchange with that of net/http's Transport: allocations, and the time of the processor.
func BenchmarkClient(b *testing.B) {
	address := startBenchEndpoint(b)
	ours := new(client.Resources).NewUpstream(dialing(address))
	b.Cleanup(ours.CloseIdleConnections)
	theirs := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 200}
	b.Cleanup(theirs.CloseIdleConnections)
	browser := http.Header{"Cookie": {strings.Repeat("c", 1024)}}
	for i := range 15 {
		browser["X-Header-"+string(rune('A'+i))] = []string{"some value of usual length"}
	}
	requests := []struct {
		name, method, path string
		header             http.Header
		body               int
		streams            bool
	}{
		{"small", "GET", "/", http.Header{"User-Agent": {"x"}}, 0, false},
		{"browser", "GET", "/browser", browser, 0, false},
		{"post", "POST", "/", http.Header{"User-Agent": {"x"}}, 16 << 10, false},
		{"post-streamed", "POST", "/", http.Header{"User-Agent": {"x"}}, 16 << 10, true},
	}
	for _, request := range requests {
		for name, transport := range map[string]http.RoundTripper{"http1": ours, "nethttp": theirs} {
			for _, parallel := range []int{1, 64} {
				b.Run(fmt.Sprintf("%s/%d/%s", request.name, parallel, name), func(b *testing.B) {
					template, err := http.NewRequestWithContext(context.Background(), request.method, "http://"+address+request.path,
						nil)
					if err != nil {
						b.Fatal(err)
					}
					template.Header = request.header
					exchange := func() {
						r := template
						if request.body > 0 {
							r = new(http.Request)
							*r = *template
							r.ContentLength = int64(request.body)
							r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", request.body)))
							if !request.streams {
								r.GetBody = func() (io.ReadCloser, error) { return nil, net.ErrClosed }
							}
						}
						response, err := transport.RoundTrip(r)
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, response.Body)
						_ = response.Body.Close()
					}
					exchange()
					b.ReportAllocs()
					b.ResetTimer()
					before := http1test.CPUTime(b)
					var left atomic.Int64
					left.Store(int64(b.N))
					var workers sync.WaitGroup
					for range parallel {
						workers.Go(func() {
							for left.Add(-1) >= 0 {
								exchange()
							}
						})
					}
					workers.Wait()
					b.ReportMetric(float64(http1test.CPUTime(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}
