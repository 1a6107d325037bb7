package main

import (
	"context"
	"slices"
	"strings"
)

// racer is a contestant of a row that runs beside the others, with what its turns have said.
type racer struct {
	who   contestant
	proxy *proxy
	turns []turn
}

// turn is one of a contestant's parts of a measurement.
type turn struct {
	values   map[metric]float64
	requests float64
	raw      string
}

// measureInTurns starts all contestants of a row and measures them in turns, backwards every second time: what others do on the machine for
// longer than a turn meets all of them alike. It returns a sample for each contestant.
func (l *lab) measureInTurns(ctx context.Context, row row) []sample {
	var racers []*racer
	defer func() {
		for _, r := range racers {
			r.proxy.discard()
		}
	}()
	for _, who := range row.contestants {
		p, err := l.startProxy(ctx, row, who)
		if err != nil {
			return failedRow(row, err)
		}
		racers = append(racers, &racer{who: who, proxy: p})
		warm := l.target(row, p)
		warm.time = warmUp
		if _, err := row.load.run(ctx, warm); err != nil {
			return failedRow(row, err)
		}
	}
	for n := range row.turns {
		order := slices.Clone(racers)
		if n%2 == 1 {
			slices.Reverse(order)
		}
		for _, r := range order {
			if err := l.takeTurn(ctx, row, r); err != nil {
				return failedRow(row, err)
			}
		}
	}
	var samples []sample
	for _, r := range racers {
		samples = append(samples, sample{contestant: r.who.name, values: combined(r.turns), raw: r.raw()})
	}
	return samples
}

// takeTurn measures a contestant once.
func (l *lab) takeTurn(ctx context.Context, row row, r *racer) error {
	at := l.target(row, r.proxy)
	values, out, err := l.watch(ctx, r.proxy, func() (outcome, error) { return row.load.run(ctx, at) })
	if err != nil {
		return err
	}
	r.turns = append(r.turns, turn{values, out.requests, out.raw})
	return nil
}

// combined returns what several turns say together: CPU for each request of all of them, and the median of everything else.
func combined(turns []turn) map[metric]float64 {
	values := map[metric]float64{}
	var used, requests float64
	for _, t := range turns {
		used += t.values[cpu] * t.requests
		requests += t.requests
		for m := range t.values {
			values[m] = 0
		}
	}
	for m := range values {
		var all spread
		for _, t := range turns {
			all = append(all, t.values[m])
		}
		values[m] = all.median()
	}
	values[cpu] = used / requests
	return values
}

func (r *racer) raw() string {
	var raw []string
	for _, t := range r.turns {
		raw = append(raw, strings.TrimSpace(t.raw))
	}
	return strings.Join(raw, "\n")
}

// failedRow returns samples of a row that could not be measured.
func failedRow(row row, err error) []sample {
	var samples []sample
	for _, who := range row.contestants {
		samples = append(samples, sample{contestant: who.name, failure: err})
	}
	return samples
}
