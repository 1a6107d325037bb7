package overload_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/static"
)

// waits is a queue with a pressure that a test sets; each sample is a measurement unless it stands still.
type waits struct {
	gauge

	still    bool
	measured time.Time
}

func (w *waits) Pressure(now time.Time) float64 {
	pressure := w.gauge.Pressure(now)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.still {
		w.measured = now
	}
	return pressure
}

func (w *waits) Measured() (wait time.Duration, at time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return 0, w.measured
}

// queueing runs a manager whose only monitor is a queue until the test ends.
func queueing(t *testing.T, config static.Overload, queue overload.Queue) *overload.Ladder {
	t.Helper()
	m := overload.New(config, overload.Options{
		Monitors: []overload.Monitored{{Name: "cpu", Option: "overload.cpu", Queue: queue, Actions: overload.Shedding()}},
		Logger:   &lines{},
	})
	run(t, m)
	return m
}

// fill admits as many requests of a class as it can, up to a number, and returns their permits.
func fill(m *overload.Ladder, class dynamic.PriorityClass, most int) (permits []uint32) {
	for range most {
		permit, _, admitted := m.Admit(class)
		if !admitted {
			break
		}
		permits = append(permits, permit)
	}
	return permits
}

func release(m *overload.Ladder, permits []uint32) {
	for _, permit := range permits {
		m.Release(permit)
	}
}

// processor serves one request after the other, and measures how long they wait.
type processor struct {
	free  chan struct{}
	takes time.Duration
	// latency is the pressure of 0.9, and endpoint how long a request waits before it is served.
	latency, endpoint time.Duration

	mutex    sync.Mutex
	waited   []time.Duration
	measured time.Time
	wait     time.Duration
	pressure float64
}

func (p *processor) serve() {
	pass(p.endpoint)
	began := time.Now()
	p.free <- struct{}{}
	p.mutex.Lock()
	p.waited = append(p.waited, time.Since(began))
	p.mutex.Unlock()
	pass(p.takes)
	<-p.free
}

func (p *processor) Pressure(now time.Time) float64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.waited) > 0 {
		slices.Sort(p.waited)
		longest := p.waited[len(p.waited)*99/100]
		p.pressure, p.wait, p.measured = 0.9*longest.Seconds()/p.latency.Seconds(), longest, now
		p.waited = nil
	}
	return p.pressure
}

func (p *processor) Measured() (wait time.Duration, at time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.wait, p.measured
}

// requests counts what became of requests that come at a rate, whatever becomes of them.
type requests struct {
	class           dynamic.PriorityClass
	rate            int
	mutex           sync.Mutex
	served, refused int
	took            []time.Duration
}

func (r *requests) come(m *overload.Ladder, p *processor, duration time.Duration) {
	var running sync.WaitGroup
	for range int(duration.Seconds()) * r.rate {
		running.Go(func() {
			began := time.Now()
			permit, _, admitted := m.Admit(r.class)
			if !admitted {
				r.mutex.Lock()
				defer r.mutex.Unlock()
				r.refused++
				return
			}
			p.serve()
			m.Release(permit)
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.served++
			r.took = append(r.took, time.Since(began))
		})
		pass(time.Second / time.Duration(r.rate))
	}
	running.Wait()
}

// TestThreeTimesTheCapacity has three times as many requests come as can be served, a tenth of the capacity of them
// important. The resource stays in use, important requests are served in time, and nothing is refused afterwards.
func TestThreeTimesTheCapacity(t *testing.T) {
	const (
		capacity = 500
		duration = 40 * time.Second
	)
	for _, test := range []struct {
		// endpoint is how long each request waits for an endpoint.
		endpoint time.Duration
		goodput  float64
	}{{0, 0.9}, {20 * time.Millisecond, 0.9}, {200 * time.Millisecond, 0.8}, {800 * time.Millisecond, 0.7}} {
		t.Run(test.endpoint.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &processor{
					free: make(chan struct{}, 1), takes: time.Second / capacity, latency: 10 * time.Millisecond,
					endpoint: test.endpoint,
				}
				m := queueing(t, defaults(), p)
				high := &requests{class: dynamic.PriorityHigh, rate: capacity / 10}
				high.come(m, p, 10*time.Second)
				low := &requests{class: dynamic.PriorityLow, rate: 3*capacity - capacity/10}
				high.served, high.took = 0, nil
				var load sync.WaitGroup
				load.Go(func() { high.come(m, p, duration) })
				load.Go(func() { low.come(m, p, duration) })
				load.Wait()
				goodput := float64(low.served+high.served) / capacity / duration.Seconds()
				if t.Logf("the goodput is %.2f of the capacity", goodput); goodput < test.goodput {
					t.Errorf("want %.2f", test.goodput)
				}
				if high.refused > 0 {
					t.Errorf("%d important requests were refused", high.refused)
				}
				if low.refused == 0 {
					t.Error("no request was refused")
				}
				high.took = high.took[len(high.took)/4:] // It takes some latencies to find the limit.
				slices.Sort(high.took)
				if got := high.took[len(high.took)*99/100]; got > 3*test.endpoint/2+2*p.latency {
					t.Errorf("99 %% of the important requests took up to %v", got)
				}
				after := &requests{class: dynamic.PriorityLow, rate: capacity / 2}
				after.come(m, p, 3*time.Second)
				after.refused = 0
				after.come(m, p, 2*time.Second)
				if after.refused > 0 || m.Active(overload.ShedLow) {
					t.Errorf("after the load, %d of %d requests were refused; active: %q", after.refused, 2*after.rate, active(m))
				}
			})
		})
	}
}

// TestLimitFallsWithThePressure looks at the limit itself, and at measurements that are not new.
func TestLimitFallsWithThePressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &waits{}
		m := queueing(t, defaults(), queue)
		permits := fill(m, dynamic.PriorityLow, 64)
		queue.set(1)
		samples(1)
		if active(m) != "" {
			t.Error("one measurement begins an action")
		}
		samples(1)
		release(m, permits)
		permits = fill(m, dynamic.PriorityLow, 100)
		if len(permits) != 54 || active(m) != "shedLow" {
			t.Errorf("%d requests are served at a time; active: %q", len(permits), active(m))
		}
		queue.mutex.Lock()
		queue.still = true
		queue.mutex.Unlock()
		samples(20)
		release(m, permits)
		if permits = fill(m, dynamic.PriorityLow, 100); len(permits) != 54 {
			t.Errorf("without a measurement, the limit changes to %d", len(permits))
		}
		release(m, permits)
	})
}

// TestClassesAreLimitedInTheirOrder has a pressure that stays, and one that falls.
func TestClassesAreLimitedInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &waits{}
		config := defaults()
		config.Actions.ShedHigh = 0
		m := queueing(t, config, queue)
		sample := func() (low, other int) { // beside ten important requests
			permits := fill(m, dynamic.PriorityHigh, 10)
			lows, others := fill(m, dynamic.PriorityLow, 1), fill(m, dynamic.PriorityDefault, 1)
			samples(1)
			release(m, slices.Concat(permits, lows, others))
			return len(lows), len(others)
		}
		queue.set(1)
		for range 30 {
			sample()
		}
		if low, other := sample(); low != 0 || other != 0 || active(m) != "shedLow shedDefault" {
			t.Errorf("%d of class low, %d of class default are served; active: %q", low, other, active(m))
		}
		if got := fill(m, dynamic.PriorityHigh, 100); len(got) != 100 {
			t.Errorf("%d requests of a class that is never refused are served", len(got))
		} else {
			release(m, got)
		}
		queue.set(0.5)
		for range 100 {
			sample()
		}
		if low, other := sample(); low != 1 || other != 1 || active(m) != "" {
			t.Errorf("%d of class low, %d of class default are served afterwards; active: %q", low, other, active(m))
		}
	})
}

// TestClassWithoutRequestsIsLeftOut has requests of the class default alone, and a second overload soon after the
// first.
func TestClassWithoutRequestsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &waits{}
		m := queueing(t, defaults(), queue)
		for range 2 {
			permits := fill(m, dynamic.PriorityDefault, 50)
			queue.set(1.84)
			samples(2)
			release(m, permits)
			permits = fill(m, dynamic.PriorityDefault, 100)
			if len(permits) != 25 || active(m) != "shedLow shedDefault" {
				t.Errorf("%d requests are served at a time; active: %q", len(permits), active(m))
			}
			release(m, permits)
			queue.set(0.5)
			for range 40 {
				samples(1)
				release(m, fill(m, dynamic.PriorityDefault, 1))
			}
			if active(m) != "" {
				t.Errorf("active: %q", active(m))
			}
		}
	})
}

// TestStreamsDoNotCount has requests that last longer than others, such as WebSockets.
func TestStreamsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &waits{}
		m := queueing(t, defaults(), queue)
		streams := fill(m, dynamic.PriorityLow, 1000)
		samples(300)
		permits := fill(m, dynamic.PriorityLow, 40)
		queue.set(1)
		samples(2)
		release(m, permits)
		if permits = fill(m, dynamic.PriorityLow, 100); len(permits) != 34 {
			t.Errorf("%d requests are served beside the streams", len(permits))
		}
		release(m, streams)
		release(m, permits)
		if permits = fill(m, dynamic.PriorityLow, 100); len(permits) != 34 {
			t.Errorf("%d requests are served after the streams", len(permits))
		}
		release(m, permits)
	})
}

func BenchmarkAdmitWithQueue(b *testing.B) {
	m := overload.New(defaults(), overload.Options{
		Monitors: []overload.Monitored{{Name: "cpu", Queue: &waits{}, Actions: overload.Shedding()}}, Logger: &lines{},
	})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			permit, _, _ := m.Admit(dynamic.PriorityDefault)
			m.Release(permit)
		}
	})
}
