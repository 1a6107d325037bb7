package kubernetes

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// oneByOne is how many endpoint changes are measured in turn, beat the pause before each.
	oneByOne = 100
	beat     = 150 * time.Millisecond
	// crowd is how many endpoint changes are measured while crowdRate of them arrive in a second.
	crowd     = 2000
	crowdRate = 100
	// slowest is how many of them are shown.
	slowest = 5
	// counted is how many endpoint changes CPU is measured over, at countedRate in a second.
	counted     = 1000
	countedRate = 50
	// checked is how many services are looked at to make sure of all.
	checked = 100
	// tail is how long the work for the last change may take.
	tail = 2 * time.Second
)

// follow moves a service and polls it, from before the move, until the new endpoint answers.
func (s *subject) follow(ctx context.Context, p *probe, i int) moved {
	if _, err := p.until(ctx, host(i), path, colourIs(s.world.colours[i])); err != nil {
		return moved{err: err}
	}
	wanted := colourIs(s.world.colours[i].other())
	return p.during(ctx, host(i), wanted, func(ctx context.Context) (string, error) { return s.world.move(ctx, i) })
}

// followLater moves a service and polls it only after the API server has answered; all of them together send as many
// requests as one, so that polling does not become the load.
func (s *subject) followLater(ctx context.Context, p *probe, i int, running *atomic.Int64) moved {
	defer running.Add(-1)
	wanted := colourIs(s.world.colours[i].other())
	m := moved{asked: time.Now()}
	if m.version, m.err = s.world.move(ctx, i); m.err != nil {
		return m
	}
	m.answered = time.Now()
	p.every = every * time.Duration(max(1, running.Load()))
	m.arrived, m.err = p.until(ctx, host(i), path, wanted)
	return m
}

// measureMoves changes one service after the other.
func (s *subject) measureMoves(tb testing.TB) {
	tb.Helper()
	s.settle(tb)
	p, next := s.dial(tb), s.world.shuffled()
	defer p.close()
	var fromAsked, fromAnswered times
	before := s.account(tb)
	for range oneByOne {
		m := s.follow(tb.Context(), p, next())
		if m.err != nil {
			tb.Fatal(m.err)
		}
		fromAsked = append(fromAsked, m.arrived.Sub(m.asked))
		fromAnswered = append(fromAnswered, m.arrived.Sub(m.answered))
		pause(tb.Context(), beat)
	}
	after := s.account(tb)
	s.note("moved", milliseconds(fromAsked.median()), before, after,
		"%d endpoint changes in turn, from before the request to the API server: %s", oneByOne, fromAsked)
	s.note("moved-worst", milliseconds(slices.Max(fromAsked)), before, after, "the same, from the API server's answer: %s",
		fromAnswered)
	s.note("moved-answered", milliseconds(fromAnswered.median()), before, after, "")
	s.note("moved-answered-worst", milliseconds(slices.Max(fromAnswered)), before, after, "")
}

// measureCrowd changes many services per second, and compares the clients' times with those of a bare informer.
func (s *subject) measureCrowd(tb testing.TB) {
	tb.Helper()
	s.settle(tb)
	s.informer.received(tb)
	served := s.snapshots(tb)
	probes := make(chan *probe, 64)
	for range cap(probes) {
		probes <- s.dial(tb)
	}
	all := make([]moved, crowd)
	next := s.world.shuffled()
	var running sync.WaitGroup
	var many atomic.Int64
	ticker := time.NewTicker(time.Second / crowdRate)
	defer ticker.Stop()
	before := s.account(tb)
	for n := range all {
		<-ticker.C
		p, i := <-probes, next()
		many.Add(1)
		running.Go(func() {
			all[n] = s.followLater(tb.Context(), p, i, &many)
			probes <- p
		})
	}
	running.Wait()
	after := s.account(tb)
	close(probes)
	for p := range probes {
		p.close()
	}
	served = since(served, s.snapshots(tb))
	s.note("event", atMost(served, 99), before, after,
		"%d endpoint changes at %d/s, from the note of the watch to the snapshot: %s", crowd, crowdRate, bucketText(served))
	s.judgeCrowd(tb, all, before, after)
}

func (s *subject) judgeCrowd(tb testing.TB, all []moved, before, after account) {
	tb.Helper()
	pause(tb.Context(), tail/4) // The informer may be late.
	known := s.informer.received(tb)
	var fromEvent, fromAsked times
	received := map[string]time.Time{}
	for _, m := range all {
		if m.err != nil {
			tb.Fatal(m.err)
		}
		at, there := known[m.version]
		if !there {
			tb.Fatalf("the informer has not received version %s", m.version)
		}
		received[m.version] = time.Unix(0, at)
		fromEvent = append(fromEvent, m.arrived.Sub(received[m.version]))
		fromAsked = append(fromAsked, m.arrived.Sub(m.asked))
	}
	took := all[len(all)-1].asked.Sub(all[0].asked)
	s.note("seen", milliseconds(fromEvent.share(99)), before, after,
		"the same, %.0f/s in fact, from a bare informer's event to the first answer: %s", float64(crowd-1)/took.Seconds(),
		fromEvent)
	s.note("crowd", milliseconds(fromAsked.share(99)), before, after,
		"the same, from before the request to the API server: %s", fromAsked)
	began := all[0].asked
	slices.SortFunc(all, func(a, b moved) int {
		return cmp.Compare(b.arrived.Sub(received[b.version]), a.arrived.Sub(received[a.version]))
	})
	for _, m := range all[:slowest] {
		s.note("", 0, before, before,
			"one of the slowest, requested after %.3f s: the API server answered after %.1f ms, the informer had received "+
				"after %.1f ms, the new endpoint answered after %.1f ms", //
			m.asked.Sub(began).Seconds(), milliseconds(m.answered.Sub(m.asked)), milliseconds(received[m.version].Sub(m.asked)),
			milliseconds(m.arrived.Sub(m.asked)))
	}
}

// measureCPU changes services at a steady rate, and compares CPU with the same time without changes.
func (s *subject) measureCPU(tb testing.TB, rounds int) {
	tb.Helper()
	for round := range rounds {
		s.settle(tb)
		length := counted * time.Second / countedRate
		first := s.account(tb)
		pause(tb.Context(), length+tail)
		before := s.account(tb)
		s.steadily(tb, countedRate, counted, func(ctx context.Context, i int) error {
			_, err := s.world.move(ctx, i)
			return err
		})
		pause(tb.Context(), length+tail-time.Since(before.when))
		after := s.account(tb)
		idle, used := before.sluice-first.sluice, after.sluice-before.sluice
		bareIdle, bareUsed := before.informer-first.informer, after.informer-before.informer
		gross, bare := each1(used-idle, counted), each1(bareUsed-bareIdle, counted)
		s.note("change", gross-bare, before, after,
			"round %d, %d endpoint changes at %d/s: Sluice %v, idle %v; bare informer %v, idle %v; each %.3f ms - %.3f ms = "+
				"%.3f ms", //
			round+1, counted, countedRate, rounded(used), rounded(idle), rounded(bareUsed), rounded(bareIdle), gross, bare,
			gross-bare)
		s.note("change-gross", gross, before, after, "")
		s.check(tb)
	}
}

// steadily does something to random services at a rate, which it never exceeds to catch up.
func (s *subject) steadily(tb testing.TB, rate, count int, act func(context.Context, int) error) {
	tb.Helper()
	next := s.world.shuffled()
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for range count {
		<-ticker.C
		if err := act(tb.Context(), next()); err != nil {
			tb.Fatal(err)
		}
	}
}

// check makes sure of some services that they are where they were moved to.
func (s *subject) check(tb testing.TB) {
	tb.Helper()
	p, next := s.dial(tb), s.world.shuffled()
	defer p.close()
	for range checked {
		i := next()
		if status, text, err := p.ask(host(i), path); err != nil || !colourIs(s.world.colours[i])(status, text) {
			tb.Fatalf("%s is not served by %s: %d %q %v", service(i), s.world.colours[i], status, text, err)
		}
	}
}

// each1 returns the share of one of many, in milliseconds.
func each1(total time.Duration, count int) float64 { return milliseconds(total) / float64(count) }

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
