package main

import (
	"fmt"
	"slices"
)

// spread is a series of values, one for each round.
type spread []float64

// median returns the middle value, or the mean of the middle two.
func (s spread) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// format prints the median, and for several values the minimum and maximum.
func (s spread) format(m metric) string {
	switch len(s) {
	case 0:
		return "–"
	case 1:
		return m.format(s[0])
	}
	return fmt.Sprintf("%s (%s–%s)", m.format(s.median()), m.format(slices.Min(s)), m.format(slices.Max(s)))
}

// times is the unit of a ratio.
var times = metric{"ratio", "", 2}

// series returns the values of a metric in the rounds that have one.
func (r results) series(row, contestant string, m metric) spread {
	var values spread
	for _, s := range r.samples {
		if value, ok := s.values[m]; ok && s.row == row && s.contestant == contestant {
			values = append(values, value)
		}
	}
	return values
}

// ratios returns a contestant's values divided by another one's in the same round.
func (r results) ratios(row, contestant, base string, m metric) spread {
	bases := map[int]float64{}
	for _, s := range r.samples {
		if s.row == row && s.contestant == base {
			bases[s.round] = s.values[m]
		}
	}
	var values spread
	for _, s := range r.samples {
		value, ok := s.values[m]
		if ok && s.row == row && s.contestant == contestant && bases[s.round] > 0 {
			values = append(values, value/bases[s.round])
		}
	}
	return values
}

// verdict returns whether the median of a ratio or value meets the bound.
func (b bound) verdict(judged spread) string {
	switch {
	case len(judged) == 0:
		return "not measured"
	case judged.median() <= b.most:
		return "met"
	}
	return "**not met**"
}
