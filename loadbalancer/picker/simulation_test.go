package picker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// simulation is a pool under load on a clock of its own. Every random number comes from one seed, so that a run
// is the same each time.
type simulation struct {
	random  *rand.Rand
	state   *State
	members list
	picker  Picker
	// serve says how long endpoint i takes for a request that comes now, and whether it fails.
	serve func(i int, now time.Duration) (took time.Duration, failed bool)
	// client names the client of the next request; nil means another one each time.
	client func() string

	now     time.Duration
	pending completions
	served  int
	counts  []int
	took    []time.Duration
	// watch, if set, is called with the endpoint of each request, after it has been counted.
	watch func(i int)
}

type completion struct {
	at, took time.Duration
	endpoint int
	failed   bool
}

// completions is a heap: the one that comes first is the first.
type completions []completion

func (c *completions) push(one completion) {
	*c = append(*c, one)
	all := *c
	for i := len(all) - 1; i > 0 && all[i].at < all[(i-1)/2].at; i = (i - 1) / 2 {
		all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
	}
}

func (c *completions) pop() completion {
	all := *c
	first, last := all[0], len(all)-1
	all[0] = all[last]
	all = all[:last]
	for i := 0; 2*i+1 < last; {
		child := 2*i + 1
		if child+1 < last && all[child+1].at < all[child].at {
			child++
		}
		if all[i].at <= all[child].at {
			break
		}
		all[i], all[child] = all[child], all[i]
		i = child
	}
	*c = all
	return first
}

func simulate(s Strategy, seed uint64, weights ...uint64) *simulation {
	random := rand.New(rand.NewPCG(seed, 7))
	members := make(list, len(weights))
	for i, weight := range weights {
		members[i] = weighted{
			Weight: weight, ID: fmt.Sprintf("http://192.0.2.%d:80", i+1), InFlight: &atomic.Int64{},
			Latency: &Latency{},
		}
	}
	sim := &simulation{random: random, state: &State{}, members: members, counts: make([]int, len(members))}
	sim.serve = sim.steady(10 * time.Millisecond)
	sim.picker = newPicker(s, members, sim.state, source{random})
	return sim
}

// steady is a service that always takes as long.
func (s *simulation) steady(took time.Duration) func(int, time.Duration) (time.Duration, bool) {
	return func(int, time.Duration) (time.Duration, bool) { return took, false }
}

// exponential returns times with a mean and the same deviation.
func (s *simulation) exponential(mean time.Duration) time.Duration {
	return time.Duration(s.random.ExpFloat64() * float64(mean))
}

// lognormal returns times around a median, with a long tail: one in a hundred takes ten times as long.
func (s *simulation) lognormal(median time.Duration) time.Duration {
	return time.Duration(math.Exp(s.random.NormFloat64()) * float64(median))
}

// send picks an endpoint for a request that comes now.
func (s *simulation) send() {
	request := Request{Now: s.now}
	if s.client != nil {
		request.Client = s.client()
	} else {
		request.Client = strconv.FormatUint(s.random.Uint64(), 36)
	}
	i := s.picker.Pick(&request)
	s.members[i].InFlight.Add(1)
	s.state.InFlight.Add(1)
	took, failed := s.serve(i, s.now)
	s.pending.push(completion{s.now + took, took, i, failed})
	s.counts[i]++
	s.took = append(s.took, took)
	s.served++
	if s.watch != nil {
		s.watch(i)
	}
}

// finish ends the request that ends next.
func (s *simulation) finish() {
	done := s.pending.pop()
	s.now = done.at
	s.members[done.endpoint].InFlight.Add(-1)
	s.state.InFlight.Add(-1)
	s.members[done.endpoint].Latency.Observe(done.took, done.failed, s.now)
}

// arrive has requests come at random instants, at a rate per second, independent of the load.
func (s *simulation) arrive(rate float64, lasting time.Duration) {
	for end := s.now + lasting; ; {
		next := s.now + s.exponential(time.Duration(float64(time.Second)/rate))
		for len(s.pending) > 0 && s.pending[0].at <= next {
			s.finish()
		}
		if s.now = next; s.now > end {
			return
		}
		s.send()
	}
}

// loop has a number of clients that each send a request when the one before is answered.
func (s *simulation) loop(clients, requests int) {
	for range clients {
		s.send()
	}
	for range requests - clients {
		s.finish()
		s.send()
	}
}

// reset begins to count anew.
func (s *simulation) reset() {
	clear(s.counts)
	s.served, s.took = 0, nil
}

func (s *simulation) share(i int) float64 { return float64(s.counts[i]) / float64(s.served) }

// percentile returns the time that a share of the requests took at most.
func (s *simulation) percentile(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[int(share*float64(len(sorted)-1))]
}

// fair returns the share of the requests that the weight of an endpoint stands for.
func (s *simulation) fair(i int) float64 {
	total := 0.0
	for _, member := range s.members {
		total += float64(member.Weight)
	}
	return float64(s.members[i].Weight) / total
}

// worst returns the endpoint that is furthest from its fair share, and by how much of all requests.
func (s *simulation) worst() (endpoint int, off float64) {
	for i := range s.members {
		if d := math.Abs(s.share(i) - s.fair(i)); d > off {
			endpoint, off = i, d
		}
	}
	return endpoint, off
}

// ones returns n equal weights.
func ones(n int) []uint64 {
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = 1
	}
	return weights
}

func named(name string) Strategy {
	if name == dynamic.StrategyHash {
		return Strategy{Name: name, Hash: Hash{Source: dynamic.HashClientIP, BoundedLoad: 125}}
	}
	return Strategy{Name: name}
}
