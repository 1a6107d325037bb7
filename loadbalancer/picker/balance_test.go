package picker

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestSharesAreTheWeights has from one to a hundred requests in flight, on endpoints that are equally fast.
func TestSharesAreTheWeights(t *testing.T) {
	sets := [][]uint64{
		{1, 1, 1, 1},
		{1, 2, 4},
		{10, 1},
		{1, 1, 1, 1, 100},
		{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		append(ones(19), 10),
		{maxCandidateWeight, maxCandidateWeight / 2},
	}
	for _, strategy := range everyStrategy() {
		for _, weights := range sets {
			for _, clients := range []int{1, 2, 30} {
				t.Run(fmt.Sprintf("%s/%v/%d clients", strategy.Name, weights, clients), func(t *testing.T) {
					sim := simulate(strategy, 1, weights...)
					sim.loop(clients, 5000)
					if endpoint, off := sim.worst(); off > 0.02 {
						t.Errorf("endpoint %d gets %.3f of the requests, its weight is %.3f", endpoint, sim.share(endpoint),
							sim.fair(endpoint))
					}
				})
			}
		}
	}
}

// TestWeightsHoldUnderNoise is the same with times of which one in a hundred is ten times the usual.
func TestWeightsHoldUnderNoise(t *testing.T) {
	for _, name := range []string{dynamic.StrategyP2C, dynamic.StrategyLeastRequest, dynamic.StrategyPeakEWMA} {
		for _, rate := range []float64{50, 500, 5000} {
			sim := simulate(named(name), 2, 1, 2, 4, 1)
			sim.serve = func(int, time.Duration) (time.Duration, bool) { return sim.lognormal(10 * time.Millisecond), false }
			sim.arrive(rate, time.Duration(15_000/rate*float64(time.Second)))
			if endpoint, off := sim.worst(); off > 0.02 {
				t.Errorf("%s at %v/s: endpoint %d gets %.3f of the requests, its weight is %.3f", name, rate, endpoint,
					sim.share(endpoint), sim.fair(endpoint))
			}
		}
	}
}

// TestNoEndpointStarves demands half of the fair share for each of equally fast endpoints, whatever the noise and the
// load.
func TestNoEndpointStarves(t *testing.T) {
	for _, strategy := range everyStrategy() {
		for _, n := range []int{5, 40} {
			for _, rate := range []float64{20, 2000} {
				for name, draw := range map[string]func(*simulation) time.Duration{
					"exponential": func(s *simulation) time.Duration { return s.exponential(10 * time.Millisecond) },
					"lognormal":   func(s *simulation) time.Duration { return s.lognormal(10 * time.Millisecond) },
				} {
					sim := simulate(strategy, 3, ones(n)...)
					sim.serve = func(int, time.Duration) (time.Duration, bool) { return draw(sim), false }
					sim.arrive(rate, time.Duration(float64(n)*300/rate*float64(time.Second)))
					for i := range sim.counts {
						if share := sim.share(i) * float64(n); share < 0.5 {
							t.Errorf("%s, %d endpoints, %v/s, %s: endpoint %d gets %.2f of its fair share", strategy.Name, n, rate, name, i,
								share)
						}
					}
				}
			}
		}
	}
}

// TestSlowEndpoint compares a pool of four, one of which takes ten times as long, with one of the three fast ones.
func TestSlowEndpoint(t *testing.T) {
	for _, weights := range [][]uint64{{1, 1, 1, 1}, {2, 1, 2, 1}} {
		for _, noisy := range []bool{false, true} {
			for _, rate := range []float64{200, 1500} {
				run := func(weights []uint64) *simulation {
					sim := simulate(named(dynamic.StrategyPeakEWMA), 4, weights...)
					sim.serve = func(i int, _ time.Duration) (time.Duration, bool) {
						took := 10 * time.Millisecond
						if noisy {
							took = sim.exponential(took)
						}
						if i == 3 {
							took *= 10
						}
						return took, false
					}
					sim.arrive(rate, 10*time.Second)
					return sim
				}
				all, fast := run(weights).percentile(0.99), run(weights[:3]).percentile(0.99)
				if all > fast*3/2 {
					t.Errorf("weights %v, noise %v, %v/s: 99 %% take %v at most, %v without the slow endpoint", weights, noisy, rate,
						all, fast)
				}
			}
		}
	}
}

// TestSlowEndpointIsLeftAlone demands of every strategy with latencies that the slow one of four gets next
// to nothing.
func TestSlowEndpointIsLeftAlone(t *testing.T) {
	for _, name := range []string{dynamic.StrategyPeakEWMA, dynamic.StrategyLeastTime} {
		for _, rate := range []float64{50, 400} {
			sim := simulate(named(name), 10, ones(4)...)
			sim.serve = func(i int, _ time.Duration) (time.Duration, bool) {
				if i == 3 {
					return 100 * time.Millisecond, false
				}
				return sim.exponential(10 * time.Millisecond), false
			}
			sim.arrive(rate, 5*time.Second)
			sim.reset()
			sim.arrive(rate, 30*time.Second)
			if share := sim.share(3); share > 0.025 || share == 0 {
				t.Errorf("%s at %v/s: the slow endpoint gets %.4f of the requests", name, rate, share)
			}
		}
	}
}

// TestFailingFastAttractsNoRequests has an endpoint that refuses at once what others work on, from the first request
// on.
func TestFailingFastAttractsNoRequests(t *testing.T) {
	for _, name := range []string{dynamic.StrategyPeakEWMA, dynamic.StrategyLeastTime} {
		for _, usual := range []time.Duration{10 * time.Millisecond, time.Second} {
			for _, rate := range []float64{50, 1000} {
				sim := simulate(named(name), 5, 1, 1, 1, 1)
				sim.serve = func(i int, _ time.Duration) (time.Duration, bool) {
					if i == 0 {
						return time.Millisecond / 10, true
					}
					return sim.exponential(usual), false
				}
				sim.arrive(rate, time.Second)
				sim.reset()
				sim.arrive(rate, 10*time.Second)
				if share := sim.share(0); share >= 0.05 {
					t.Errorf("%s, others take %v, %v/s: the failing endpoint gets %.3f of the requests", name, usual, rate, share)
				}
			}
		}
	}
}

// TestRecovery has an endpoint be slow, or fail, for ten seconds.
func TestRecovery(t *testing.T) {
	for _, name := range []string{dynamic.StrategyPeakEWMA, dynamic.StrategyLeastTime} {
		for _, failing := range []bool{false, true} {
			for _, rate := range []float64{20, 400} {
				sim := simulate(named(name), 6, 1, 1, 1, 1)
				sim.serve = func(i int, now time.Duration) (time.Duration, bool) {
					switch {
					case i != 0 || now > 10*time.Second:
						return sim.exponential(10 * time.Millisecond), false
					case failing:
						return time.Millisecond, true
					}
					return 100 * time.Millisecond, false
				}
				sim.arrive(rate, 10*time.Second)
				sim.arrive(rate, 20*time.Second)
				sim.reset()
				sim.arrive(rate, 20*time.Second)
				// Means of 100 samples differ more, and for longer, where samples are few.
				slack := 0.05
				if name == dynamic.StrategyLeastTime {
					slack = 0.125
				}
				if share := sim.share(0); math.Abs(share-0.25) > slack {
					t.Errorf("%s, failing %v, %v/s: 20 s after it got well the endpoint gets %.3f of the requests", name, failing,
						rate, share)
				}
			}
		}
	}
}

// TestHungEndpoint has an endpoint of four answer nothing at all.
func TestHungEndpoint(t *testing.T) {
	for _, name := range []string{
		dynamic.StrategyP2C, dynamic.StrategyLeastRequest, dynamic.StrategyPeakEWMA,
		dynamic.StrategyLeastTime,
	} {
		for _, weights := range [][]uint64{{1, 1, 1, 1}, {3, 1, 2, 1}, ones(40)} {
			sim := simulate(named(name), 7, weights...)
			sim.serve = func(i int, _ time.Duration) (time.Duration, bool) {
				if i == 0 {
					return time.Hour, false
				}
				return sim.exponential(10 * time.Millisecond), false
			}
			sim.arrive(1000, 10*time.Second)
			if share := sim.share(0); share > 0.01 {
				t.Errorf("%s with weights %v: the endpoint that hangs gets %.3f of the requests", name, weights, share)
			}
		}
	}
}

// TestTheFastestOfAll has one of eight be three times as fast as the others, which is enough to be sure.
func TestTheFastestOfAll(t *testing.T) {
	for fastest := range 8 {
		candidates := hosts(8)
		for i := range candidates {
			candidates[i].Latency = &Latency{}
			for range few {
				took := 30 * time.Millisecond
				if i == fastest {
					took = 10 * time.Millisecond
				}
				candidates[i].Latency.Observe(took, false, 0)
			}
		}
		picker := New(named(dynamic.StrategyLeastTime), candidates, nil)
		for range 50 {
			if got := picker.Pick(&Request{}); got != fastest {
				t.Fatalf("got %d, want %d", got, fastest)
			}
		}
		candidates[fastest].InFlight.Store(9)
		if got := picker.Pick(&Request{}); got == fastest {
			t.Fatal("the fastest one is picked in spite of nine requests in flight")
		}
	}
}
