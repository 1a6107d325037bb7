package entrypoint_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/httpio/serving"
	"github.com/sluiceproxy/sluice/static"
)

// discarding is a response writer that costs nothing.
type discarding struct {
	header http.Header
	state  serving.RequestState
}

func (d *discarding) Header() http.Header         { return d.header }
func (d *discarding) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarding) WriteHeader(int)             {}

func (d *discarding) Attach(state *serving.RequestState) { d.state = *state }
func (d *discarding) Answered() bool                     { return true }
func (d *discarding) CloseAfter()                        {}
func (d *discarding) Seen() (bool, bool)                 { return true, true }

// BenchmarkChain measures what the entrypoint adds to a request with the headers of a browser.
func BenchmarkChain(b *testing.B) { benchmarkChain(b, newConfig()) }

// BenchmarkChainWithRates is BenchmarkChain with limits that are never reached.
func BenchmarkChainWithRates(b *testing.B) {
	config := newConfig()
	config.Transport.Limits.MaxRequestRate, config.Transport.Limits.MaxRequestRatePerClient = 1e9, 1e9
	benchmarkChain(b, config)
}

func benchmarkChain(b *testing.B, config *static.EntryPoint) {
	e, err := entrypoint.New("web", config, http.HandlerFunc(hello), nil, entrypoint.Dependencies{})
	if err != nil {
		b.Fatal(err)
	}
	template := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/users?page=1", http.NoBody)
	for name, value := range map[string]string{
		"User-Agent": "Mozilla/5.0", "Accept": "text/html", "Accept-Language": "en", "Accept-Encoding": "gzip",
		"Cookie":  "session=1",
		"Referer": "https://example.com/", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "same-origin",
		"Cache-Control": "no-cache",
	} {
		template.Header.Set(name, value)
	}
	writer := &discarding{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		r := *template
		r.Header = template.Header
		e.ServeHTTP1(writer, &r)
		writer.state.Completed(serving.Completion{Status: http.StatusOK})
	}
}
