package overload_test

import (
	"context"
	"fmt"
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

// processor runs pieces of requests one after the other.
type processor struct {
	free chan struct{}
	// sampled is how many waits come to one that is measured: 8 in the runtime.
	sampled int
	// pieces are how long the pieces of a request take, between which it waits for the processor.
	pieces []time.Duration
	// latency is the pressure of 0.9.
	latency time.Duration

	mutex    sync.Mutex
	endpoint time.Duration // how long a request waits before the last three pieces
	waits    int
	waited   []time.Duration
	measured time.Time
	wait     time.Duration
	pressure float64
}

func (p *processor) serve() {
	first := max(len(p.pieces)-3, 0)
	for _, piece := range p.pieces[:first] {
		p.run(piece)
	}
	p.mutex.Lock()
	endpoint := p.endpoint
	p.mutex.Unlock()
	pass(endpoint)
	for _, piece := range p.pieces[first:] {
		p.run(piece)
	}
}

// run waits for the processor and keeps it for a time.
func (p *processor) run(piece time.Duration) {
	began := time.Now()
	p.free <- struct{}{}
	p.mutex.Lock()
	if p.waits++; p.waits%p.sampled == 0 {
		p.waited = append(p.waited, time.Since(began))
	}
	p.mutex.Unlock()
	pass(piece)
	<-p.free
}

// interrupt takes the processor away for three milliseconds after each fifty, as a collection of garbage does, until
// ctx ends.
func (p *processor) interrupt(ctx context.Context) {
	for ctx.Err() == nil {
		pass(50 * time.Millisecond)
		p.run(3 * time.Millisecond)
	}
}

func (p *processor) Pressure(now time.Time) float64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.waited) < 20 && now.Sub(p.measured) < time.Second {
		return p.pressure
	}
	p.pressure, p.wait, p.measured = 0, 0, now
	if len(p.waited) > 0 {
		slices.Sort(p.waited)
		p.wait = p.waited[len(p.waited)*99/100]
		p.pressure = 0.9 * p.wait.Seconds() / p.latency.Seconds()
	}
	p.waited = nil
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

// capacity is how many requests the processor of overloaded serves in a second.
const capacity = 500

// overloaded is a processor with three times as many requests as it can serve, a tenth of the capacity of them
// important.
type overloaded struct {
	*processor

	manager   *overload.Ladder
	low, high *requests
	goodput   float64
}

// newOverloaded returns one that has served the important requests alone for ten seconds.
func newOverloaded(t *testing.T, p *processor) *overloaded {
	t.Helper()
	p.free = make(chan struct{}, 1)
	o := &overloaded{processor: p, manager: queueing(t, defaults(), p)}
	alone := &requests{class: dynamic.PriorityHigh, rate: capacity / 10}
	alone.come(o.manager, p, 10*time.Second)
	return o
}

// come has the requests come for a time.
func (o *overloaded) come(duration time.Duration) {
	o.high = &requests{class: dynamic.PriorityHigh, rate: capacity / 10}
	o.low = &requests{class: dynamic.PriorityLow, rate: 3*capacity - capacity/10}
	var load sync.WaitGroup
	load.Go(func() { o.high.come(o.manager, o.processor, duration) })
	load.Go(func() { o.low.come(o.manager, o.processor, duration) })
	load.Wait()
	o.goodput = float64(o.low.served+o.high.served) / capacity / duration.Seconds()
}

// expect compares what became of the requests, of which the first quarter of the important ones may take long: it takes
// some latencies to find the limit.
func (o *overloaded) expect(t *testing.T, goodput float64) {
	t.Helper()
	if t.Logf("the goodput is %.2f of the capacity", o.goodput); o.goodput < goodput {
		t.Errorf("want %.2f", goodput)
	}
	if o.high.refused > 0 {
		t.Errorf("%d important requests were refused", o.high.refused)
	}
	if o.low.refused == 0 {
		t.Error("no request was refused")
	}
	took := o.high.took[len(o.high.took)/4:]
	slices.Sort(took)
	if got := took[len(took)*99/100]; got > 3*o.endpoint/2+2*o.latency {
		t.Errorf("99 %% of the important requests took up to %v", got)
	}
}

// TestThreeTimesTheCapacity has three times as many requests come as can be served. The resource stays in use,
// important requests are served in time, and nothing is refused afterwards.
func TestThreeTimesTheCapacity(t *testing.T) {
	const ms = time.Millisecond
	one, four := []time.Duration{2 * ms}, pieces()
	for _, test := range []struct {
		endpoint, latency time.Duration
		pieces            []time.Duration
		sampled           int
		interrupted       bool
		goodput           float64
	}{
		{0, 10 * ms, one, 1, false, 0.9},
		{20 * ms, 10 * ms, one, 1, false, 0.9},
		{200 * ms, 10 * ms, one, 1, false, 0.8},
		{800 * ms, 10 * ms, one, 1, false, 0.7},
		{20 * ms, 5 * ms, four, 8, false, 0.9},
		{800 * ms, 10 * ms, four, 8, false, 0.75},
		{20 * ms, 5 * ms, four, 8, true, 0.85},
		{200 * ms, 5 * ms, four, 8, true, 0.85},
	} {
		name := fmt.Sprintf("%v within %v, in %d pieces, interrupted %t", test.endpoint, test.latency, len(test.pieces),
			test.interrupted)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOverloaded(t, &processor{
					endpoint: test.endpoint, latency: test.latency, pieces: test.pieces, sampled: test.sampled,
				})
				if test.interrupted {
					ctx, cancel := context.WithCancel(t.Context())
					var interruptions sync.WaitGroup
					interruptions.Go(func() { o.interrupt(ctx) })
					defer interruptions.Wait()
					defer cancel()
				}
				o.come(40 * time.Second)
				o.expect(t, test.goodput)
				after := &requests{class: dynamic.PriorityLow, rate: capacity / 2}
				after.come(o.manager, o.processor, 3*time.Second)
				after.refused = 0
				after.come(o.manager, o.processor, 2*time.Second)
				if after.refused > 0 || o.manager.Active(overload.ShedLow) {
					t.Errorf("after the load, %d of %d requests were refused; active: %q", after.refused, 2*after.rate,
						active(o.manager))
				}
			})
		})
	}
}

// pieces are those of a request of two milliseconds that is read, sent, and answered in two parts.
func pieces() []time.Duration {
	const µs = time.Microsecond
	return []time.Duration{200 * µs, 200 * µs, 400 * µs, 1200 * µs}
}

// TestEndpointChanges has the endpoint answer far sooner, and far later, in the middle of the load.
func TestEndpointChanges(t *testing.T) {
	const soon, late = 20 * time.Millisecond, 800 * time.Millisecond
	for _, change := range [][2]time.Duration{{late, soon}, {soon, late}} {
		t.Run(fmt.Sprint(change), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOverloaded(t, &processor{
					endpoint: change[0], latency: 10 * time.Millisecond, pieces: pieces(), sampled: 8,
				})
				o.come(20 * time.Second)
				o.mutex.Lock()
				o.endpoint = change[1]
				o.mutex.Unlock()
				o.come(20 * time.Second)
				o.come(20 * time.Second)
				o.expect(t, 0.75)
			})
		})
	}
}

// TestCrowdBeginsWithOneMeasurement has far more requests than usual when the pressure is high for the first time.
func TestCrowdBeginsWithOneMeasurement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &waits{}
		m := queueing(t, defaults(), queue)
		var usual []uint32
		pass(interval / 4) // The samples are between the changes.
		for range 20 {     // of 200 requests in a second, each of which takes 50 ms
			release(m, usual)
			usual = fill(m, dynamic.PriorityLow, 10)
			pass(interval / 2)
			release(m, usual)
			usual = fill(m, dynamic.PriorityLow, 10)
			pass(interval / 2)
		}
		for _, test := range []struct {
			more, ended int
			want        string
		}{{0, 0, ""}, {90, 0, ""}, {90, 100, "shedLow"}} {
			more := fill(m, dynamic.PriorityLow, test.more)
			for range test.ended {
				release(m, fill(m, dynamic.PriorityLow, 1))
			}
			queue.set(1.88)
			samples(1)
			if got := active(m); got != test.want {
				t.Errorf("with %d more requests and %d that ended, one measurement begins %q, want %q", test.more, test.ended,
					got, test.want)
			}
			queue.set(0.5)
			samples(1)
			release(m, more)
		}
		release(m, usual)
	})
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
