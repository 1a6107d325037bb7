package picker

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestSmallLists(t *testing.T) {
	for _, strategy := range append(everyStrategy(), Strategy{}, unbounded()) {
		for attempt := range 3 {
			request := &Request{Attempt: attempt, Client: "192.0.2.1"}
			if got := New(strategy, list{}, nil).Pick(request); got != -1 {
				t.Errorf("%s: no candidate is %d", strategy.Name, got)
			}
			for _, weight := range []uint64{0, 1, maxCandidateWeight, math.MaxUint64} {
				if got := New(strategy, list{{Weight: weight, ID: "http://192.0.2.1:80"}}, nil).Pick(request); got != 0 {
					t.Errorf("%s: the only candidate, with weight %d, is %d", strategy.Name, weight, got)
				}
			}
		}
	}
}

// TestHugeWeights has a sum of weights that would not do if it were multiplied with anything, and a ratio of 2^44.
func TestHugeWeights(t *testing.T) {
	for _, strategy := range everyStrategy() {
		for _, weights := range [][]uint64{
			{maxCandidateWeight, maxCandidateWeight, maxCandidateWeight},
			{math.MaxUint64, 1},
			{1, math.MaxUint64, 1},
			{maxCandidateWeight, 1, maxCandidateWeight / 2},
		} {
			sim := simulate(strategy, 1, weights...)
			for i := range sim.members {
				sim.members[i].Weight = min(sim.members[i].Weight, maxCandidateWeight)
			}
			sim.loop(1, 3000)
			if endpoint, off := sim.worst(); off > 0.03 {
				t.Errorf("%s, weights %v: endpoint %d gets %.3f, its weight is %.3f", strategy.Name, weights, endpoint,
					sim.share(endpoint), sim.fair(endpoint))
			}
		}
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	for _, strategy := range append(everyStrategy(), Strategy{
		Name: dynamic.StrategyHash,
		Hash: Hash{Source: dynamic.HashCookie, Name: "s", BoundedLoad: 100},
	}) {
		for _, n := range []int{2, 10, 200} {
			for name, weight := range map[string]func(int) uint64{"equal": same, "mixed": mixed} {
				picker, requests := New(strategy, crowd(n, weight), nil), clients(64)
				i := 0
				if allocated := testing.AllocsPerRun(200, func() {
					requests[i%64].Attempt = i % 3
					picker.Pick(&requests[i%64])
					i++
				}); allocated != 0 {
					t.Errorf("%s, %d %s: a pick allocates %v times", strategy.Name, n, name, allocated)
				}
			}
		}
	}
}

// TestManyAtOnce is for the race detector, and demands that no count gets lost.
func TestManyAtOnce(t *testing.T) {
	for _, strategy := range everyStrategy() {
		candidates := crowd(20, mixed)
		for i := range candidates {
			candidates[i].InFlight.Store(0)
		}
		state := NewState()
		picker := New(strategy, candidates, state)
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for i := range 300 {
					now := time.Duration(i) * time.Millisecond
					index := picker.Pick(&Request{Now: now, Client: fmt.Sprint(worker, i)})
					candidates[index].InFlight.Add(1)
					state.InFlight.Add(1)
					candidates[index].Latency.Observe(time.Duration(i)*time.Microsecond, i%7 == 0, now)
					candidates[index].InFlight.Add(-1)
					state.InFlight.Add(-1)
				}
			})
		}
		all.Wait()
		for i := range candidates {
			if left := candidates[i].InFlight.Load(); left != 0 {
				t.Errorf("%s: %d requests of candidate %d are left", strategy.Name, left, i)
			}
			if speed := candidates[i].Latency.peakAt(0); math.IsNaN(speed.latency) || speed.latency <= 0 ||
				speed.failing > failureCost {
				t.Errorf("%s: candidate %d is %v fast", strategy.Name, i, speed)
			}
		}
	}
}

// TestPositionSurvives replaces a list in the middle of a round.
func TestPositionSurvives(t *testing.T) {
	var state State
	candidates := hosts(3)
	var got []int
	for range 5 {
		picker := New(Strategy{Name: dynamic.StrategyWRR}, candidates, &state)
		got = append(got, picker.Pick(&Request{}), picker.Pick(&Request{}))
	}
	if diff := cmp.Diff([]int{1, 2, 0, 1, 2, 0, 1, 2, 0, 1}, got); diff != "" {
		t.Errorf("five lists in a row (-want +got):\n%s", diff)
	}
	var cursor atomic.Uint64
	got = nil
	for range 4 {
		got = append(got, ResumeRoundRobin([]int{1, 0, 1}, &cursor).Next())
	}
	if got[0] == got[1] || got[0] != got[2] || got[1] != got[3] {
		t.Errorf("four round robins with one cursor gave %v", got)
	}
}

// TestTiesDoNotFavourTheHeavy compares two idle candidates that are equally good.
func TestTiesDoNotFavourTheHeavy(t *testing.T) {
	candidates := newWeightedCandidates(list{{Weight: 9}, {Weight: 1}}, source{})
	counts := [2]int{}
	for range 100_000 {
		counts[candidates.better()]++
	}
	if share := float64(counts[1]) / 100_000; share < 0.095 || share > 0.105 {
		t.Errorf("a tenth of the weight gets %.4f of the picks", share)
	}
}

// TestUrn compares draws of many weights with what they should be, exactly: by the size of the slots.
func TestUrn(t *testing.T) {
	for _, weights := range [][]uint64{{1, 2, 3}, {1, 1 << 20}, {7, 7, 7, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1000}} {
		candidates := make(list, len(weights))
		for i := range weights {
			candidates[i].Weight = weights[i]
		}
		relative, equal := relativeWeights(candidates)
		aliasTable := newAliasTable(relative, equal)
		got := make([]float64, len(weights))
		for i, slot := range aliasTable.slots {
			level := float64(slot.level) / (1 << 32)
			got[i] += level
			got[slot.other] += 1 - level
		}
		for i := range got {
			if math.Abs(got[i]-relative[i]) > 1e-6 {
				t.Errorf("weights %v: index %d is drawn %.8f times as often as the mean, want %.8f", weights, i, got[i],
					relative[i])
			}
		}
	}
}

// FuzzNew picks from lists of any weights and loads, by every strategy.
func FuzzNew(f *testing.F) {
	f.Add([]byte{}, "", uint8(0), int64(0))
	f.Add([]byte{1}, "192.0.2.1", uint8(1), int64(1))
	f.Add([]byte{0, 255, 3, 3, 44, 60}, "client", uint8(3), int64(1e9))
	f.Add([]byte{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 9}, "", uint8(30), int64(-1))
	f.Fuzz(func(t *testing.T, shape []byte, client string, attempt uint8, now int64) {
		candidates := make(list, min(len(shape), 64))
		for i := range candidates {
			inFlight := &atomic.Int64{}
			inFlight.Store(int64(shape[i] % 16))
			latency := &Latency{}
			if shape[i]%3 == 0 {
				latency.Observe(time.Duration(now), shape[i]%2 == 0, time.Duration(now))
			}
			candidates[i] = weighted{
				Weight: 1 << (shape[i] % 64), ID: fmt.Sprint(shape[i]), InFlight: inFlight,
				Latency: latency,
			}
		}
		for _, strategy := range everyStrategy() {
			picker := New(strategy, candidates, nil)
			for i := range 4 {
				request := &Request{Now: time.Duration(now) + time.Duration(i)*time.Second, Client: client, Attempt: int(attempt)}
				if got := picker.Pick(request); got < -1 || got >= len(candidates) || (got < 0) != (len(candidates) == 0) {
					t.Fatalf("%s picks %d of %d", strategy.Name, got, len(candidates))
				}
			}
		}
	})
}
