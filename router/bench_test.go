package router

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// declareMany declares routers on hosts of their own, each with a middleware chain and a load balancer.
func declareMany(b *bench, count int) {
	b.middleware("strip@file", &dynamic.Middleware{StripPrefix: &dynamic.StripPrefix{Prefixes: []string{"/api"}}})
	for i := range count {
		name := fmt.Sprintf("r%d@file", i)
		service := fmt.Sprintf("s%d@file", i)
		lb := &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: fmt.Sprintf("http://192.0.2.%d:80", i%250+1)}}}
		lb.SetDefaults()
		b.service(service, &dynamic.Service{LoadBalancer: lb})
		b.router(name, fmt.Sprintf("Host(`h%d.test`) && PathPrefix(`/api`)", i), service, "strip")
	}
}

func BenchmarkCompile10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		x := newBench(b)
		declareMany(x, 10000)
		b.StartTimer()
		x.all()
	}
}

func BenchmarkCompileOneOf10000(b *testing.B) {
	x := newBench(b)
	declareMany(x, 10000)
	x.all()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		x.router("r77@file", fmt.Sprintf("Host(`h77.test`) && PathPrefix(`/v%d`)", i%10), "s77", "strip")
		x.apply(true, ref(dynamic.KindRouter, "r77@file"))
	}
}

func BenchmarkServeInternal(b *testing.B) {
	x := newBench(b)
	x.router("r@file", "Host(`x.test`) && PathPrefix(`/api`)", "n@internal")
	x.compiler.options.Internal["n@internal"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	x.all()
	handler := x.target.Handler("web")
	request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://x.test/api/1", http.NoBody)
	recorder := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(recorder, request)
	}
}
