package service_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkServices says what each kind costs a request beside its child.
func BenchmarkServices(b *testing.B) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	var children []service.Child
	for i := range 10 {
		children = append(children, service.Child{
			Name: fmt.Sprintf("app-v%d", i), Handler: nothing, Weight: i + 1,
			Up: func() bool {
				return i > 4
			},
		})
	}
	cookie, err := sticky.New("w@file", nil)
	if err != nil {
		b.Fatal(err)
	}
	status, err := dynamic.ParseStatusCodes([]string{"5xx"})
	if err != nil {
		b.Fatal(err)
	}
	carrier := service.NewMirrors()
	defer carrier.Close()
	mirroring := func(percent int) *service.Mirroring {
		return service.NewMirroring(service.MirroringOptions{
			Main: children[9], To: []service.Mirror{{nothing, percent, 100}},
			State: service.NewState(), Carrier: carrier,
		})
	}
	canary, err := service.NewCanary(service.CanaryOptions{
		Main: children[9], Canary: children[8], Cookie: cookie,
		Config: &dynamic.Canary{Header: "X-Canary", HeaderPattern: "^on", Cookie: "canary", Weight: 10},
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range []struct {
		name    string
		handler http.Handler
	}{
		{"canary", canary},
		{"weighted", service.NewWeighted(service.WeightedOptions{Children: children, State: service.NewState()})},
		{"weighted/half down", service.NewWeighted(service.WeightedOptions{
			Children: children, HealthCheck: true,
			State: service.NewState(),
		})},
		{"weighted/cookie", service.NewWeighted(service.WeightedOptions{
			Children: children, Cookie: cookie,
			State: service.NewState(),
		})},
		{"highestRandomWeight", service.NewHighestRandomWeight(service.HighestRandomWeightOptions{Children: children})},
		{"failover", service.NewFailover(service.FailoverOptions{Main: children[9], Fallback: children[8]})},
		{"failover/by status", service.NewFailover(service.FailoverOptions{
			Main: children[9], Fallback: children[8],
			Status: status, Memory: replay.NewMemory(1 << 20),
		})},
		{"mirroring/0", mirroring(0)},
		{"mirroring/100", mirroring(100)},
	} {
		b.Run(row.name, func(b *testing.B) {
			ctx := telemetry.WithRecord(b.Context(), &telemetry.Record{Client: "192.0.2.7"})
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://x.test/", http.NoBody)
			r.Header.Set("Cookie", cookie.Name()+"="+sticky.ID("app-v3"))
			w := &silent{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				row.handler.ServeHTTP(w, r)
			}
		})
	}
}
