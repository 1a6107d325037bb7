package forward_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) WriteHeader(int)             {}
func (s sink) Write(p []byte) (int, error) { return len(p), nil }

func browser() *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://shop.example/a/b?c=d", nil)
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Cookie", "Referer", "Sec-Fetch-Dest",
		"Sec-Fetch-Mode",
		"Sec-Fetch-Site", "User-Agent", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto", "X-Real-Ip",
	} {
		r.Header.Set(name, "value")
	}
	return r
}

func reverse(target *url.URL, trips http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport:     trips,
		FlushInterval: 100e6,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
	}
}

// BenchmarkLoopback compares whole requests, client and endpoint included.
func BenchmarkLoopback(b *testing.B) {
	body := make([]byte, 128)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	defer endpoint.Close()
	transport, err := forward.NewTransport("bench", &dynamic.ServersTransport{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	pool := registry.NewPool("svc")
	registry.Configure(pool, loadbalancer.PoolSpec{
		Name: "svc", Dialer: transport,
		Servers: []loadbalancer.ServerSpec{spec(b, endpoint.URL)},
	})
	defer registry.Release("svc")
	target, err := url.Parse(endpoint.URL)
	if err != nil {
		b.Fatal(err)
	}
	plain := &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 200, DisableCompression: true}
	defer plain.CloseIdleConnections()
	for name, handler := range map[string]http.Handler{
		"forward":      forward.NewService(pool, forward.Options{PassHostHeader: true, FlushInterval: 100e6}),
		"reverseproxy": reverse(target, plain),
	} {
		b.Run(name, func(b *testing.B) {
			front := httptest.NewServer(handler)
			defer front.Close()
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				r := browser()
				r.URL, r.RequestURI = &url.URL{Scheme: "http", Host: front.Listener.Addr().String(), Path: "/"}, ""
				response, err := client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
}

func spec(b *testing.B, location string) loadbalancer.ServerSpec {
	b.Helper()
	server, err := loadbalancer.NewServerSpec(dynamic.Server{URL: location})
	if err != nil {
		b.Fatal(err)
	}
	return server
}
