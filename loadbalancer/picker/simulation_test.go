package picker

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// simulation is a pool under load on a clock of its own. Every random number comes from one seed, so that a run is the same
// each time.
type simulation struct {
	random  *rand.Rand
	state   *State
	members []Candidate
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
	// watch, if set, is told who got a request, after it has been counted.
	watch func(i int)
}

type completion struct {
	at, took time.Duration
	endpoint int
	failed   bool
}

type completions []completion

func (c completions) Len() int           { return len(c) }
func (c completions) Less(i, j int) bool { return c[i].at < c[j].at }
func (c completions) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *completions) Push(x any)        { *c = append(*c, x.(completion)) } //nolint:errcheck // this list holds nothing else
func (c *completions) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

func simulate(s Strategy, seed uint64, weights ...uint64) *simulation {
	random := rand.New(rand.NewPCG(seed, 7))
	members := make([]Candidate, len(weights))
	for i, weight := range weights {
		members[i] = Candidate{Weight: weight, ID: fmt.Sprintf("http://192.0.2.%d:80", i+1), InFlight: &atomic.Int64{}, Latency: &Latency{}}
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
	request := Request{Now: s.now, HTTP: &http.Request{}, Client: fmt.Sprint("client ", s.random.Uint64())}
	if s.client != nil {
		request.Client = s.client()
	}
	i := s.picker.Pick(&request)
	s.members[i].InFlight.Add(1)
	s.state.InFlight.Add(1)
	took, failed := s.serve(i, s.now)
	heap.Push(&s.pending, completion{s.now + took, took, i, failed})
	s.counts[i]++
	s.took = append(s.took, took)
	s.served++
	if s.watch != nil {
		s.watch(i)
	}
}

// finish ends the request that ends next.
func (s *simulation) finish() {
	done := heap.Pop(&s.pending).(completion) //nolint:errcheck // the list holds nothing else
	s.now = done.at
	s.members[done.endpoint].InFlight.Add(-1)
	s.state.InFlight.Add(-1)
	s.members[done.endpoint].Latency.Observe(done.took, done.failed, s.now)
}

// arrive has requests come at random instants, at a rate per second, whoever is busy.
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

// forget begins to count anew.
func (s *simulation) forget() {
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

// poorest returns the least that an endpoint gets, relative to its fair share.
func (s *simulation) poorest() float64 {
	least := math.Inf(1)
	for i := range s.members {
		least = min(least, s.share(i)/s.fair(i))
	}
	return least
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
