package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// warmUp is the duration of a load before the measurement: caches, connections to the endpoint, the heap's size.
const warmUp = time.Second

// sample is one measurement of one contestant in one row.
type sample struct {
	row, contestant string
	round           int
	values          map[metric]float64
	// raw is the output of the load.
	raw string
	// failure is why there are no values.
	failure error
}

// results are all samples in order.
type results struct {
	samples []sample
	// rate is nginx's capacity in requests per second.
	rate float64
}

// err returns the first failure, or an interruption.
func (r results) err(ctx context.Context) error {
	var failed []error
	for _, s := range r.samples {
		if s.failure != nil {
			failed = append(failed, fmt.Errorf("%s, %s, round %d: %w", s.row, s.contestant, s.round, s.failure))
		}
	}
	if ctx.Err() != nil {
		failed = append(failed, fmt.Errorf("ended before everything was measured: %w", context.Cause(ctx)))
	}
	return errors.Join(failed...)
}

// measureAll measures everything: each round all rows, each row all of its contestants.
func (l *lab) measureAll(ctx context.Context) results {
	var all results
	for round := 1; round <= l.settings.rounds; round++ {
		for i, row := range l.settings.rows {
			for s := range l.measureRow(ctx, row) {
				if ctx.Err() != nil {
					return all
				}
				s.row, s.round = row.name, round
				l.learn(s)
				all.samples = append(all.samples, s)
				all.rate = l.capacity
				l.say("round %d/%d, row %d/%d  %s", round, l.settings.rounds, i+1, len(l.settings.rows), s)
			}
		}
	}
	return all
}

// measureRow measures the contestants of a row: one after the other, or in short turns.
func (l *lab) measureRow(ctx context.Context, row row) iter.Seq[sample] {
	if row.turns > 0 {
		return slices.Values(l.measureInTurns(ctx, row))
	}
	return func(yield func(sample) bool) {
		for _, who := range row.contestants {
			s := l.measure(ctx, row, who)
			s.contestant = who.name
			if !yield(s) {
				return
			}
		}
	}
}

// learn stores nginx's capacity from the first round.
func (l *lab) learn(s sample) {
	if s.row == capacityRow && s.contestant == "nginx" && l.capacity == 0 {
		l.capacity = s.values[rate]
	}
}

// knowCapacity measures nginx's capacity if no row has done so.
func (l *lab) knowCapacity(ctx context.Context) error {
	for _, row := range table() {
		if row.name == capacityRow && l.capacity == 0 {
			s := l.measure(ctx, row, row.contestants[0])
			if s.failure != nil {
				return fmt.Errorf("nginx's capacity: %w", s.failure)
			}
			l.capacity = s.values[rate]
		}
	}
	return nil
}

// measure starts a contestant, measures it, and stops it.
func (l *lab) measure(ctx context.Context, row row, who contestant) sample {
	if _, ok := row.load.(open); ok {
		if err := l.knowCapacity(ctx); err != nil {
			return sample{failure: err}
		}
	}
	p, err := l.startProxy(ctx, row, who)
	if err != nil {
		return sample{failure: err}
	}
	defer p.discard()
	at := l.target(row, p)
	if idle, ok := row.load.(held); ok {
		values, raw, err := idle.measure(ctx, p, at)
		return sample{values: values, raw: raw, failure: err}
	}
	warm := at
	warm.time = warmUp
	if _, err := row.load.run(ctx, warm); err != nil {
		return sample{failure: err}
	}
	values, out, err := l.watch(ctx, p, func() (outcome, error) { return meanwhile(ctx, p, who, row.load, at) })
	if err != nil {
		return sample{failure: err}
	}
	return sample{values: values, raw: out.raw}
}

// meanwhile runs a load together with the contestant's meanwhile.
func meanwhile(ctx context.Context, p *proxy, who contestant, load load, at target) (outcome, error) {
	if who.meanwhile == nil {
		return load.run(ctx, at)
	}
	going, stop := context.WithCancel(ctx)
	type report struct {
		text string
		err  error
	}
	reports := make(chan report, 1)
	go func() {
		text, err := who.meanwhile(going, p)
		reports <- report{text, err}
	}()
	out, err := load.run(ctx, at)
	stop()
	said := <-reports
	out.raw = strings.TrimSpace(out.raw) + "\n" + said.text
	return out, errors.Join(err, said.err)
}

// watch runs a load and returns its result with the usage of the proxy and the machine.
func (l *lab) watch(ctx context.Context, p *proxy, load func() (outcome, error)) (map[metric]float64, outcome, error) {
	before, err := observe(p.pid())
	if err != nil {
		return nil, outcome{}, err
	}
	out, err := load()
	if err != nil {
		return nil, outcome{}, fmt.Errorf("%w\n%s", err, p.last())
	}
	after, err := observe(p.pid())
	if err != nil {
		return nil, outcome{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, outcome{}, err
	}
	used := after.cpu - before.cpu
	values := out.values(used)
	busy := 100 * share(before.cores[0], after.cores[0])
	maps.Copy(values, map[metric]float64{
		memory: after.resident / 1024, busyProxy: busy, busyLoad: 100 * share(before.cores[1], after.cores[1]),
		strangers: max(0, busy-100*float64(used)/float64(after.at.Sub(before.at))),
	})
	return values, out, nil
}

// values returns the metrics of a load for which a proxy has used some CPU time.
func (o outcome) values(used time.Duration) map[metric]float64 {
	const gibibyte = 1 << 30
	if o.bytes > 0 {
		return map[metric]float64{cpuOfBytes: used.Seconds() / (o.bytes / gibibyte), bytesRate: o.perSecond / gibibyte}
	}
	values := map[metric]float64{
		cpu: float64(used) / float64(time.Microsecond) / o.requests, rate: o.perSecond,
		p50: milliseconds(o.p50), p99: milliseconds(o.p99), p999: milliseconds(o.p999),
	}
	if o.size > 0 {
		values[size] = o.size / 1024
	}
	if o.sent > 0 {
		values[unanswered] = 100 * (1 - o.requests/o.sent)
	}
	return values
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// observation is the usage up to a moment.
type observation struct {
	at       time.Time
	cpu      time.Duration
	resident float64 // KiB
	cores    map[int]ticks
}

func observe(pid int) (observation, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return observation{}, err
	}
	o := observation{at: time.Now()}
	if o.cores, err = coreTicks(text); err != nil {
		return observation{}, fmt.Errorf("/proc/stat: %w", err)
	}
	if o.resident, err = resident(pid); err != nil {
		return observation{}, err
	}
	o.cpu, err = cpuTime(pid)
	return o, err
}

// String is the line of a sample.
func (s sample) String() string {
	line := fmt.Sprintf("%-16s %-12s", s.row, s.contestant)
	if s.failure != nil {
		return line + " failed: " + strings.ReplaceAll(s.failure.Error(), "\n", " | ")
	}
	for _, m := range metrics() {
		if value, ok := s.values[m]; ok {
			line += fmt.Sprintf("  %s %s %s", m.name, m.format(value), m.unit)
		}
	}
	return line
}
