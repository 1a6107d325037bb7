package forward_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// reading reads the body of each request, and answers 200.
type reading struct{ buffer []byte }

func (s reading) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r.Body}, s.buffer); err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	return &http.Response{StatusCode: 200, ProtoMajor: 2, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// BenchmarkUpload is what the body of a request costs beside the network.
func BenchmarkUpload(b *testing.B) {
	transport, err := forward.NewTransport("bench", &dynamic.ServersTransport{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	pool := registry.NewPool("svc")
	registry.Configure(pool, loadbalancer.PoolSpec{
		Name: "svc", Dialer: transport, Servers: []loadbalancer.ServerSpec{spec(b, "h2c://192.0.2.1")},
	})
	forward.Wire(memberOf(pool).Upstream().RoundTripper()).RegisterProtocol("http", reading{make([]byte, 32<<10)})
	for name, policy := range map[string]*retry.Policy{
		"once": nil, "retry": {Attempts: 2, MaxBody: 64 << 10, OnNetworkError: true},
	} {
		for _, size := range []int{100, 20_000, 1 << 20} {
			b.Run(fmt.Sprint(name, "/", size), func(b *testing.B) {
				handler := forward.NewService(pool, forward.Options{Retry: policy, Transport: transport})
				payload, body := make([]byte, size), new(bytes.Reader)
				r := browser()
				r.Method, r.Body, r.ContentLength = http.MethodPut, io.NopCloser(body), int64(size)
				b.ReportAllocs()
				for b.Loop() {
					body.Reset(payload)
					handler.ServeHTTP(sink{http.Header{}}, r)
				}
			})
		}
	}
}
