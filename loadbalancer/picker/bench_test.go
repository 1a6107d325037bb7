package picker

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// member is laid out as a pool would: what belongs to an endpoint is on one heap object, and what belongs to
// its place in the pool on another.
type (
	endpointState struct {
		_        [96]byte
		inFlight atomic.Int64
		_        [24]byte
	}
	memberState struct {
		_       [64]byte
		latency Latency
		_       [40]byte
	}
)

// list is the Candidates of the tests.
type list []weighted

func (l list) Len() int { return len(l) }

func (l list) Weight(index int) uint64 { return l[index].Weight }

func (l list) At(index int) Candidate {
	one := &l[index]
	return Candidate{ID: one.ID, InFlight: one.InFlight, Latency: one.Latency}
}

// weighted is a candidate of the list with its weight.
type weighted struct {
	Weight   uint64
	ID       string
	InFlight *atomic.Int64
	Latency  *Latency
}

// crowd returns candidates that have been at work: with requests in flight and latencies, as a busy pool has.
func crowd(n int, weight func(i int) uint64) list {
	candidates := make(list, n)
	for i := range candidates {
		endpoint, member := &endpointState{}, &memberState{}
		endpoint.inFlight.Store(int64(i * 7919 % 5))
		for k := range 3 {
			member.latency.Observe(time.Duration(8+(i*31+k)%5)*time.Millisecond, false, time.Duration(k)*time.Second)
		}
		id := fmt.Sprintf("http://10.%d.%d.%d:8080", i>>16, i>>8&255, i&255)
		candidates[i] = weighted{Weight: weight(i), ID: id, InFlight: &endpoint.inFlight, Latency: &member.latency}
	}
	return candidates
}

func same(int) uint64 { return 1 }

func mixed(i int) uint64 { return uint64(1 + i%7) } //nolint:gosec // not negative

func everyStrategy() []Strategy {
	return []Strategy{
		named(dynamic.StrategyWRR),
		named(dynamic.StrategyP2C), named(dynamic.StrategyPeakEWMA), named(dynamic.StrategyLeastRequest),
		named(dynamic.StrategyHash), named(dynamic.StrategyLeastTime), named(dynamic.StrategyHRW),
	}
}

// clients returns requests of different clients, so that strategies that hash meet the whole list.
func clients(n int) []Request {
	requests := make([]Request, n)
	for i := range requests {
		requests[i] = Request{Now: 4 * time.Second, HTTP: &http.Request{}, Client: fmt.Sprintf("203.0.%d.%d", i>>8&255,
			i&255)}
	}
	return requests
}

func eachSize(b *testing.B, run func(b *testing.B, s Strategy, candidates list)) {
	for _, strategy := range everyStrategy() {
		for _, n := range []int{10, 1000, 10_000} {
			for _, weights := range []struct {
				name string
				of   func(int) uint64
			}{{"equal", same}, {"mixed", mixed}} {
				b.Run(fmt.Sprintf("%s/%d/%s", strategy.Name, n, weights.name), func(b *testing.B) {
					run(b, strategy, crowd(n, weights.of))
				})
			}
		}
	}
}

func BenchmarkPick(b *testing.B) {
	eachSize(b, func(b *testing.B, s Strategy, candidates list) {
		state := NewState()
		state.InFlight.Store(int64(2 * len(candidates)))
		picker, requests := New(s, candidates, state), clients(1<<12)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			picker.Pick(&requests[i&(1<<12-1)])
		}
	})
}

// BenchmarkPickParallel has 16 goroutines for each core.
func BenchmarkPickParallel(b *testing.B) {
	eachSize(b, func(b *testing.B, s Strategy, candidates list) {
		state := NewState()
		state.InFlight.Store(int64(2 * len(candidates)))
		picker, requests := New(s, candidates, state), clients(1<<12)
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				picker.Pick(&requests[i&(1<<12-1)])
			}
		})
	})
}

func BenchmarkNew(b *testing.B) {
	eachSize(b, func(b *testing.B, s Strategy, candidates list) {
		state := NewState()
		for i := range candidates {
			if !s.UsesLatency() {
				candidates[i].Latency = nil // as a pool has it
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			New(s, candidates, state)
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	var latency Latency
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		latency.Observe(time.Duration(i&0xFFFFF), false, time.Duration(i)*time.Microsecond)
	}
}
