package metrics

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestShardsAgreeWithClientGolang counts the same random durations with a shard, by many goroutines at once, and
// with Prometheus' own histogram, and demands the same buckets of both kinds.
func TestShardsAgreeWithClientGolang(t *testing.T) {
	options := Options{Buckets: []float64{.001, .1, .3, 1.2, 5}, EntryPoints: true}
	metrics := New(options)
	reference := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "reference", Help: "Reference.", Buckets: options.Buckets, NativeHistogramBucketFactor: 1.1,
		NativeHistogramZeroThreshold: nativeBound(0),
	})
	random := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	for range 20_000 {
		all = append(all, time.Duration(math.Exp(random.Float64()*43)))
	}
	for _, bound := range options.Buckets {
		exact := time.Duration(bound * float64(time.Second))
		all = append(all, exact-1, exact, exact+1)
	}
	all = append(all, 0, -1, math.MaxInt64)
	var counted uint64
	for _, duration := range all {
		reference.Observe(max(duration, 0).Seconds())
		counted += uint64((max(duration, 0) + tick/2) / tick)
	}
	const workers = 8
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < len(all); i += workers {
				metrics.Entrypoint("web").Count(&Request{
					Method: "GET", Status: 200, Duration: all[i], BytesSent: 3, BytesReceived: 2,
				})
			}
		})
	}
	wait.Wait()
	var want dto.Metric
	if err := reference.Write(&want); err != nil {
		t.Fatal(err)
	}
	families := gathered(t, metrics.page)
	got := families["traefik_entrypoint_request_duration_seconds"].GetMetric()[0].GetHistogram()
	if diff := cmp.Diff(shapeOf(want.GetHistogram()), shapeOf(got)); diff != "" {
		t.Errorf("histograms differ (-reference +ours):\n%s", diff)
	}
	if sum := float64(counted) * tick.Seconds(); got.GetSampleSum() != sum {
		t.Errorf("sum %v, want %v", got.GetSampleSum(), sum)
	}
	for name, want := range map[string]int{
		"traefik_entrypoint_requests_total": len(all), "traefik_entrypoint_responses_bytes_total": 3 * len(all),
		"traefik_entrypoint_requests_bytes_total": 2 * len(all),
	} {
		if count := families[name].GetMetric()[0].GetCounter().GetValue(); count != float64(want) {
			t.Errorf("%s is %v, want %d", name, count, want)
		}
	}
}

// shape is a histogram without its sum and its time, with what cmp can look into.
type shape struct {
	Count, Zero   uint64
	ZeroThreshold float64
	Schema        int32
	Classic       map[float64]uint64
	Spans         [][2]int
	Deltas        []int64
}

func shapeOf(h *dto.Histogram) shape {
	s := shape{
		Count: h.GetSampleCount(), Zero: h.GetZeroCount(), ZeroThreshold: h.GetZeroThreshold(), Schema: h.GetSchema(),
		Classic: map[float64]uint64{},
	}
	for _, bucket := range h.GetBucket() {
		s.Classic[bucket.GetUpperBound()] = bucket.GetCumulativeCount()
	}
	// Client_golang fills small gaps with empty buckets; both are expanded alike.
	index, at, before := 0, 0, int64(0)
	last, lastCount := math.MinInt, int64(0)
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			before += h.GetPositiveDelta()[at]
			if before != 0 {
				s.Spans = append(s.Spans, [2]int{index, index - last})
				s.Deltas = append(s.Deltas, before-lastCount)
				last, lastCount = index, before
			}
			at++
			index++
		}
	}
	return s
}

func TestNativeBoundsAreInclusive(t *testing.T) {
	for i := range nativeBuckets - 1 {
		bound := nativeBound(i)
		if at := nativeIndex(bound); at != i {
			t.Errorf("the bound %v of bucket %d is counted in %d", bound, i, at)
		}
		if at := nativeIndex(math.Nextafter(bound, math.Inf(1))); at != i+1 {
			t.Errorf("what is just above bucket %d is counted in %d", i, at)
		}
	}
	for _, odd := range []float64{0, -1, math.NaN(), math.Inf(-1), math.SmallestNonzeroFloat64} {
		if at := nativeIndex(odd); at != 0 {
			t.Errorf("%v is counted in bucket %d", odd, at)
		}
	}
	if at := nativeIndex(time.Duration(math.MaxInt64).Seconds()); at >= nativeBuckets-1 {
		t.Errorf("the longest duration is beyond the buckets: %d", at)
	}
}

// TestTablesLoseNoKey has goroutines add the same keys at once, in different orders.
func TestTablesLoseNoKey(t *testing.T) {
	var numbers table[uint64]
	const keys, workers = 500, 4
	var wait sync.WaitGroup
	found := make([][keys]*uint64, workers)
	for worker := range workers {
		wait.Go(func() {
			for _, i := range rand.New(rand.NewPCG(uint64(worker), 0)).Perm(keys) {
				key := uint64(i) * 600
				value := numbers.find(key)
				if value == nil {
					value = numbers.insert(key, &key)
				}
				found[worker][i] = value
			}
		})
	}
	wait.Wait()
	for i := range keys {
		key := uint64(i) * 600
		value := numbers.find(key)
		if value == nil || *value != key {
			t.Fatalf("key %d leads to %v", key, value)
		}
		for worker := range workers {
			if found[worker][i] != value {
				t.Fatalf("key %d has two values", key)
			}
		}
	}
	if numbers.find(1) != nil {
		t.Error("a key was found that was not added")
	}
	seen := map[uint64]bool{}
	numbers.all(func(key uint64, _ *uint64) { seen[key] = true })
	if len(seen) != keys {
		t.Errorf("%d keys, want %d", len(seen), keys)
	}
}

// gathered returns families by name.
func gathered(t *testing.T, from prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, family := range families {
		byName[family.GetName()] = family
	}
	return byName
}
