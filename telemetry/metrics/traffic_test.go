package metrics

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTrafficIsAddedUp(t *testing.T) {
	metrics := New(Options{})
	web := metrics.Entrypoint("web")
	web.Opened()
	for _, status := range []int{200, 204, 404, 499, 502} {
		web.Count(&Request{
			Method: "GET", Status: status, Duration: time.Second, BytesReceived: 1, BytesSent: 10,
			Service: metrics.Service("b@file"), ServiceDuration: time.Second / 2,
		})
	}
	metrics.Service("a@file")
	got, err := json.Marshal(map[string]any{
		"entryPoints": metrics.Traffic(TrafficEntrypoints, nil),
		"services":    metrics.Traffic(TrafficServices, []string{"b@file", "nobody@file", "a@file"}),
		"one":         metrics.Traffic(TrafficServices, []string{"a@file"}),
		"none":        metrics.Traffic(TrafficRouters, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"entryPoints":[{"name":"web","requests":5,"clientErrors":2,"serverErrors":1,"bytesReceived":5,"bytesSent":50,` +
		`"openConnections":1,"seconds":5,"buckets":[[1,5]]}],"none":[],` +
		`"one":[{"name":"a@file","requests":0,"clientErrors":0,"serverErrors":0,"bytesReceived":0,"bytesSent":0,` +
		`"openConnections":0,"seconds":0,"buckets":[]}],` +
		`"services":[{"name":"a@file","requests":0,"clientErrors":0,"serverErrors":0,"bytesReceived":0,"bytesSent":0,` +
		`"openConnections":0,"seconds":0,"buckets":[]},` +
		`{"name":"b@file","requests":5,"clientErrors":2,"serverErrors":1,"bytesReceived":5,"bytesSent":50,` +
		`"openConnections":0,"seconds":2.5,"buckets":[[0.5,5]]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("traffic (-want +got):\n%s", diff)
	}
}

// start runs the metrics until the returned function is called.
func (m *Metrics) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func TestHistoryHasRatesAndQuantiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := New(Options{})
		web := metrics.Entrypoint("web")
		count := func(entrypoint *Entrypoint, n, status int, duration time.Duration) {
			for range n {
				entrypoint.Count(&Request{Method: "GET", Status: status, Duration: duration})
			}
		}
		count(web, 1000, 200, time.Minute) // Before the first scrape.
		began := time.Now()
		stop := metrics.start(t)
		synctest.Wait()
		count(web, 96, 200, 10*time.Millisecond)
		count(web, 4, 503, 2*time.Second)
		<-time.NewTimer(historyEvery).C
		synctest.Wait()
		count(metrics.Entrypoint("admin"), 10, 200, time.Second)
		<-time.NewTimer(historyEvery).C
		synctest.Wait()
		h := metrics.History()
		if h.Interval != 2 || len(h.Times) != 2 || h.Times[0] != began.Add(historyEvery).UnixMilli() ||
			len(h.EntryPoints) != 2 {
			t.Fatalf("history %+v", h)
		}
		want := []EntrypointHistory{
			{
				Name: "admin", Requests: []float64{0, 5}, Errors: []float64{0, 0}, ClientErrors: []float64{0, 0},
				P50: []float64{0, 1}, P95: []float64{0, 1}, P99: []float64{0, 1},
			},
			{
				Name: "web", Requests: []float64{50, 0}, Errors: []float64{2, 0}, ClientErrors: []float64{0, 0},
				P50: []float64{.01, 0}, P95: []float64{.01, 0}, P99: []float64{2, 0},
			},
		}
		near := cmp.Comparer(func(a, b float64) bool { return a == b || math.Abs(a-b) < 0.09*max(a, b) })
		if diff := cmp.Diff(want, h.EntryPoints, near); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		stop()
	})
}

func TestHistoryDropsWhatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := New(Options{})
		web := metrics.Entrypoint("web")
		stop := metrics.start(t)
		synctest.Wait()
		for i := range historyLength + 10 {
			for range i {
				web.Count(&Request{Method: "GET"})
			}
			<-time.NewTimer(historyEvery).C
			synctest.Wait()
		}
		h := metrics.History()
		if len(h.Times) != historyLength || len(h.EntryPoints[0].Requests) != historyLength {
			t.Fatalf("%d samples, want %d", len(h.Times), historyLength)
		}
		if first, last := h.EntryPoints[0].Requests[0], h.EntryPoints[0].Requests[historyLength-1]; first != 5 ||
			last != 79.5 {
			t.Errorf("rates from %v to %v, want 5 to 79.5", first, last)
		}
		stop()
	})
}

// TestQuantilesAreWithinABucket compares with the exact quantiles of an even spread.
func TestQuantilesAreWithinABucket(t *testing.T) {
	var n native
	const count = 10_000
	for i := range count {
		n.add(nativeIndex(float64(i+1) / 1000))
	}
	buckets := make([]uint64, nativeBuckets)
	total := n.read(buckets)
	for _, share := range []float64{0.01, 0.5, 0.95, 0.99, 1} {
		exact := share * count / 1000
		if got := quantile(buckets, total, share); math.Abs(got-exact) > exact*0.05 {
			t.Errorf("the quantile %v is %v, want %v", share, got, exact)
		}
	}
	var short native
	short.add(0)
	clear(buckets)
	if got := quantile(buckets, short.read(buckets), 0.5); got != nativeBound(0) {
		t.Errorf("the median of what is too short is %v", got)
	}
	clear(buckets)
	if got := quantile(buckets, 0, 0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}
