package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// turn is how long one contestant of a row with turns runs while the others wait.
	turn = 100 * time.Millisecond
	// ending is how long before their end all loads continue, so that each ends in time.
	ending = 300 * time.Millisecond
)

// racer is a contestant of a row with turns.
type racer struct {
	who    contestant
	proxy  *proxy
	before observation
	// load receives the process of its load.
	load chan *os.Process
	out  outcome
	err  error
}

// measureInTurns starts all contestants of a row, with a load for each that is stopped during the turns of others.
// Disturbances on the machine that are longer than a turn affect all of them alike. The samples have no latencies,
// since stopped loads distort them.
func (l *lab) measureInTurns(ctx context.Context, row row) []sample {
	var racers []*racer
	defer func() {
		for _, r := range racers {
			r.proxy.discard()
		}
	}()
	// The second one has a disadvantage of about 1 %, so the order alternates.
	order := slices.Clone(row.contestants)
	if l.races[row.name]++; l.races[row.name]%2 == 0 {
		slices.Reverse(order)
	}
	for _, who := range order {
		p, err := l.startProxy(ctx, row, who)
		if err != nil {
			return failedRow(row, err)
		}
		racers = append(racers, &racer{who: who, proxy: p, load: make(chan *os.Process, 1)})
		warm := l.target(row, p)
		warm.time = warmUp
		if _, err := row.load.run(ctx, warm); err != nil {
			return failedRow(row, err)
		}
	}
	samples, err := l.race(ctx, row, racers)
	if err != nil {
		return failedRow(row, err)
	}
	place := func(s sample) int {
		return slices.IndexFunc(row.contestants, func(who contestant) bool { return who.name == s.contestant })
	}
	slices.SortFunc(samples, func(a, b sample) int { return place(a) - place(b) })
	return samples
}

// race runs the loads, each for the time of as many measurements as the row has turns.
func (l *lab) race(ctx context.Context, row row, racers []*racer) ([]sample, error) {
	var err error
	for _, r := range racers {
		if r.before, err = observe(r.proxy.pid()); err != nil {
			return nil, err
		}
	}
	whole := l.settings.time * time.Duration(row.turns*len(racers))
	ctx, cancel := context.WithTimeout(ctx, whole+time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for _, r := range racers {
		at := l.target(row, r.proxy)
		at.time, at.started = whole, func(load *os.Process) { r.load <- load }
		running.Go(func() {
			if r.out, r.err = row.load.run(ctx, at); r.err != nil {
				cancel() // The others are useless then.
			}
		})
	}
	err = takeTurns(ctx, racers, whole)
	running.Wait()
	for _, r := range racers {
		if r.err != nil {
			err = errors.Join(err, fmt.Errorf("%w\n%s", r.err, r.proxy.last()))
		}
	}
	if err != nil {
		return nil, err
	}
	return raced(racers)
}

// takeTurns continues one load after the other, until all of them are about to end.
func takeTurns(ctx context.Context, racers []*racer, whole time.Duration) error {
	over := time.NewTimer(max(0, whole-ending))
	defer over.Stop()
	var loads []*os.Process
	for _, r := range racers {
		select {
		case load := <-r.load:
			loads = append(loads, load)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	return alternate(ctx, loads, ticker.C, over.C)
}

// alternate continues the next process with each tick, while the others are stopped. At the end all continue. A process
// that has ended is not signalled, since its number may be reused.
func alternate(ctx context.Context, loads []*os.Process, ticks, over <-chan time.Time) error {
	defer func() {
		for _, load := range loads {
			_ = load.Signal(syscall.SIGCONT)
		}
	}()
	for _, load := range loads[1:] {
		if err := load.Signal(syscall.SIGSTOP); err != nil {
			return fmt.Errorf("stopping a load: %w", err)
		}
	}
	for at := 0; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return nil
		case <-ticks:
			_ = loads[at].Signal(syscall.SIGSTOP)
			at = (at + 1) % len(loads)
			_ = loads[at].Signal(syscall.SIGCONT)
		}
	}
}

// raced returns the results of the loads, and the usage of their proxies.
func raced(racers []*racer) ([]sample, error) {
	var samples []sample
	var used time.Duration
	var busy, elapsed float64
	for _, r := range racers {
		after, err := observe(r.proxy.pid())
		if err != nil {
			return nil, err
		}
		own := after.cpu - r.before.cpu
		used += own
		busy, elapsed = 100*share(r.before.cores[0], after.cores[0]), float64(after.at.Sub(r.before.at))
		r.out.perSecond *= float64(len(racers))
		values := r.out.values(own)
		for _, distorted := range []metric{p50, p99, p999} {
			delete(values, distorted)
		}
		maps.Copy(values, map[metric]float64{
			memory: after.resident / 1024, busyProxy: busy, busyLoad: 100 * share(r.before.cores[1], after.cores[1]),
		})
		samples = append(samples, sample{contestant: r.who.name, raw: strings.TrimSpace(r.out.raw), values: values})
	}
	for _, s := range samples {
		s.values[strangers] = max(0, busy-100*float64(used)/elapsed)
	}
	return samples, nil
}

// failedRow returns the samples of a row that could not be measured.
func failedRow(row row, err error) []sample {
	var samples []sample
	for _, who := range row.contestants {
		samples = append(samples, sample{contestant: who.name, failure: err})
	}
	return samples
}
