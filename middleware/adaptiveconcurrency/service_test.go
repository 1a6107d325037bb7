package adaptiveconcurrency_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/adaptiveconcurrency"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func defaults() dynamic.AdaptiveConcurrency {
	var config dynamic.AdaptiveConcurrency
	config.SetDefaults()
	return config
}

// limited is a middleware for one owner.
type limited interface {
	Wrap(next http.Handler) http.Handler
	Status() (state string, levels map[string]int64)
}

func build(t testing.TB, config dynamic.AdaptiveConcurrency) (*adaptiveconcurrency.AdaptiveConcurrency, limited) {
	t.Helper()
	m, err := adaptiveconcurrency.New("m@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return m, m.For("service web@file").(limited)
}

func pause(d time.Duration) { <-time.NewTimer(d).C }

// answer answers as an endpoint does, after a time.
func answer(w http.ResponseWriter, r *http.Request, status int, after time.Duration) {
	record := telemetry.RecordFrom(r.Context())
	record.Tries++
	pause(after)
	record.OriginStatus = status
	w.WriteHeader(status)
}

// service serves a number of requests at a time; others wait within it. The work of a request takes an exponential time
// if random is set.
type service struct {
	mutex  sync.Mutex
	places chan struct{}
	work   time.Duration
	random *rand.Rand
	inside int
	// thrash is by which part each request beyond the places lengthens the work.
	thrash float64
}

func newService(places int, work time.Duration) *service {
	s := new(service)
	s.set(places, work)
	return s
}

func (s *service) set(places int, work time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.places, s.work = make(chan struct{}, places), work
}

func (s *service) enter() (places chan struct{}, work time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inside++
	work = s.work
	if over := s.inside - cap(s.places); over > 0 {
		work += time.Duration(float64(over) * s.thrash * float64(work))
	}
	if s.random != nil {
		work = time.Duration(s.random.ExpFloat64() * float64(work))
	}
	return s.places, work
}

func (s *service) leave() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inside--
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/poll" {
		answer(w, r, http.StatusNoContent, 30*time.Second)
		return
	}
	record := telemetry.RecordFrom(r.Context())
	record.Tries++
	places, work := s.enter()
	defer s.leave()
	select {
	case places <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-places }()
	timer := time.NewTimer(work)
	defer timer.Stop()
	select {
	case <-timer.C:
		record.OriginStatus = http.StatusNoContent
		w.WriteHeader(http.StatusNoContent)
	case <-r.Context().Done():
	}
}

// clients send requests and wait for a time for each response.
type clients struct {
	handler  http.Handler
	path     string
	patience time.Duration
	random   *rand.Rand

	mutex sync.Mutex
	times []time.Duration
	group sync.WaitGroup
}

func (c *clients) send(t *testing.T, r *http.Request) {
	t.Helper()
	start, w := time.Now(), new(middlewaretest.Writer)
	ctx, cancel := context.WithTimeout(telemetry.WithRecord(t.Context(), new(telemetry.Record)), c.patience)
	defer cancel()
	c.handler.ServeHTTP(w, r.Clone(ctx))
	if w.Status == http.StatusNoContent {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.times = append(c.times, time.Since(start))
	}
}

// load sends requests at a rate for a time, and returns how many a second were answered, and in which time 99 % of
// them.
func (c *clients) load(t *testing.T, rate int, duration time.Duration) (served float64, p99 time.Duration) {
	t.Helper()
	c.take()
	r := middlewaretest.Request(t, "GET "+c.path)
	for began := time.Now(); time.Since(began) < duration; {
		c.group.Go(func() { c.send(t, r) })
		gap := 1.0
		if c.random != nil {
			gap = c.random.ExpFloat64()
		}
		pause(time.Duration(gap * float64(time.Second) / float64(rate)))
	}
	times := c.take()
	if len(times) == 0 {
		return 0, 0
	}
	return float64(len(times)) / duration.Seconds(), times[len(times)*99/100]
}

// take returns the times of the responses since the last call, sorted.
func (c *clients) take() []time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	times := c.times
	c.times = nil
	slices.Sort(times)
	return times
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// bubble runs a test with clients that have a patience of a second. Arrivals and times of work are random, or even.
func bubble(t *testing.T, even bool, test func(t *testing.T, s *service, c *clients, step limited)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		_, step := build(t, defaults())
		s, c := newService(20, 100*time.Millisecond), &clients{path: "/", patience: time.Second}
		if c.handler = step.Wrap(s); !even {
			s.random, c.random = seeded(), seeded()
		}
		test(t, s, c, step)
		c.group.Wait()
		if _, levels := step.Status(); levels["in_flight"] != 0 || levels["queued"] != 0 {
			t.Errorf("afterwards it stands at %v", levels)
		}
	})
}
