package adaptivelifo_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/httpio/adaptivelifo"
)

// service is a simulated service with a number of places, before which requests wait.
type service struct {
	pool
	options adaptivelifo.Options
	// work returns how long a request takes.
	work func() time.Duration
	// patience is how long a client waits for its response.
	patience time.Duration

	began time.Time
	// answered has for each second how many responses came in time, of requests that arrived then.
	answered []int
	// waits are those of the requests that were answered, by second of arrival.
	waits [][]time.Duration
	// dropped and lost are requests that the queue refused, and all without a response.
	dropped, lost int
}

func (s *service) note(arrival time.Time, wait time.Duration, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	second := int(arrival.Sub(s.began) / time.Second)
	for len(s.answered) <= second {
		s.answered, s.waits = append(s.answered, 0), append(s.waits, nil)
	}
	switch {
	case err == nil:
		s.answered[second]++
		s.waits[second] = append(s.waits[second], wait)
	case errors.Is(err, adaptivelifo.ErrDropped):
		s.dropped++
		fallthrough
	default:
		s.lost++
	}
}

// request is one of a client.
func (s *service) request(ctx context.Context) {
	arrival := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	waited := s.queue.Len() > 0 || !s.take()
	if waited {
		if err := s.queue.Wait(ctx, s.options, s.take); err != nil {
			s.note(arrival, 0, err)
			return
		}
	}
	wait := time.Since(arrival)
	work := time.NewTimer(s.work())
	defer work.Stop()
	select {
	case <-work.C:
		s.note(arrival, wait, nil)
	case <-ctx.Done():
		if waited {
			s.queue.Abandoned()
		}
		s.note(arrival, wait, ctx.Err())
	}
	s.free.Add(1)
	s.queue.Wake()
}

// open has requests arrive at a rate, at random or evenly, whatever happens to those before.
func (s *service) open(t *testing.T, group *sync.WaitGroup, random *rand.Rand, rate float64, duration time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < duration; {
		group.Go(func() { s.request(t.Context()) })
		gap := 1.0
		if random != nil {
			gap = random.ExpFloat64()
		}
		pass(time.Duration(gap * float64(time.Second) / rate))
	}
}

// closed has clients that send a request after the response to the one before.
func (s *service) closed(t *testing.T, clients int, duration time.Duration) {
	t.Helper()
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for began := time.Now(); time.Since(began) < duration; {
				s.request(t.Context())
			}
		})
	}
	group.Wait()
}

// simulated returns a service with all places free.
func simulated(places int, work func() time.Duration, options adaptivelifo.Options, patience time.Duration) *service {
	s := &service{options: options, work: work, patience: patience, began: time.Now()}
	s.free.Store(int64(places))
	return s
}

func constant(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// exponential returns work times with a mean.
func exponential(random *rand.Rand, mean time.Duration) func() time.Duration {
	var mutex sync.Mutex
	return func() time.Duration {
		mutex.Lock()
		defer mutex.Unlock()
		return time.Duration(random.ExpFloat64() * float64(mean))
	}
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// TestClosedLoop has more clients than places, each with one request at a time: the queue stands for ever, and none is
// lost, also if some clients leave.
func TestClosedLoop(t *testing.T) {
	for _, clients := range []int{11, 14, 20, 40} {
		for _, work := range []time.Duration{time.Second, 10 * time.Millisecond} {
			for _, leaving := range []int{0, 20} {
				synctest.Test(t, func(t *testing.T) {
					s := simulated(10, constant(work), adaptivelifo.Options{Limit: 100, Longest: 5 * time.Second}, time.Hour)
					var group sync.WaitGroup
					if leaving > 0 { // One request of twenty ends before it has got a place.
						group.Go(func() {
							for began := time.Now(); time.Since(began) < 40*work; pass(work * 2) {
								ctx, cancel := context.WithTimeout(t.Context(), work/10)
								s.request(ctx)
								cancel()
							}
						})
					}
					s.closed(t, clients, 50*work)
					group.Wait()
					total := 0
					for _, n := range s.answered {
						total += n
					}
					if s.dropped > 0 || leaving == 0 && s.lost > 0 || total < 500 {
						t.Errorf("%d clients with %v: %d dropped, %d lost, %d answered", clients, work, s.dropped, s.lost, total)
					}
				})
			}
		}
	}
}

// TestOpenLoop has more requests than can be served: nearly as many are answered in time as can be, and those fast.
// Without overload again, requests are served in the order of arrival.
func TestOpenLoop(t *testing.T) {
	for name, test := range map[string]struct {
		places         int
		work, patience time.Duration
		options        adaptivelifo.Options
	}{
		"short queue": {25, 200 * time.Millisecond, time.Second, adaptivelifo.Options{Limit: 25, Longest: time.Second}},
		"long queue":  {25, 200 * time.Millisecond, time.Second, adaptivelifo.Options{Limit: 2000, Longest: time.Second}},
		"few places":  {10, 100 * time.Millisecond, time.Second, adaptivelifo.Options{Limit: 500, Longest: 2 * time.Second}},
		"patient clients": {
			4, 20 * time.Millisecond, time.Hour, adaptivelifo.Options{Limit: 2000, Longest: time.Second},
		},
		"impatient clients": {
			4, 20 * time.Millisecond, 100 * time.Millisecond, adaptivelifo.Options{Limit: 5000, Longest: time.Second},
		},
		"late clients": {
			50, 500 * time.Millisecond, time.Second, adaptivelifo.Options{Limit: 2000, Longest: time.Second},
		},
	} {
		for _, times := range []float64{2, 3} {
			for _, random := range []*rand.Rand{nil, seeded()} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						work := constant(test.work)
						if random != nil {
							work = exponential(seeded(), test.work)
						}
						capacity := float64(test.places) / test.work.Seconds()
						s := simulated(test.places, work, test.options, test.patience)
						var group sync.WaitGroup
						s.open(t, &group, random, times*capacity, (settled+measured)*time.Second)
						s.open(t, &group, random, capacity/2, time.Second)
						s.inOrder(t, name)
						group.Wait()
						s.measure(t, name, times, capacity)
					})
				})
			}
		}
	}
}

// settled and measured are the seconds in which overload is found, and in which what is answered counts.
const settled, measured = 3, 3

// measure checks how many requests were answered, and how long 90 % of them had waited.
func (s *service) measure(t *testing.T, name string, times, capacity float64) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	answered, waits := 0, []time.Duration(nil)
	for second := settled; second < settled+measured && second < len(s.answered); second++ {
		answered += s.answered[second]
		waits = append(waits, s.waits[second]...)
	}
	slices.Sort(waits)
	if answered == 0 {
		t.Errorf("%s, %v times the capacity: none is answered", name, times)
		return
	}
	part, p90 := float64(answered)/measured/capacity, waits[len(waits)*9/10]
	t.Logf("%s, %v times the capacity: %.3f of it is answered, 90 %% within %v", name, times, part, p90)
	if part < 0.95 || p90 > s.options.Longest/4 {
		t.Errorf("%s, %v times the capacity: %.3f of it is answered, 90 %% within %v: %d", name, times, part, p90, s.answered)
	}
}

// inOrder has three requests wait for places, which are served in order.
func (s *service) inOrder(t *testing.T, name string) {
	t.Helper()
	taken := 0
	for s.take() {
		taken++
	}
	for _, one := range []string{"a", "b", "c"} {
		s.arrive(t.Context(), one, s.options)
	}
	for range taken {
		s.free.Add(1)
		s.queue.Wake()
		synctest.Wait()
	}
	pass(s.options.Longest / 2) // Others end.
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if got := strings.Join(s.ended, ", "); got != "a served, b served, c served" {
		t.Errorf("%s: after overload %s", name, got)
	}
}
