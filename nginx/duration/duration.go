// Package duration reads times as nginx's configuration has them.
package duration

import (
	"strconv"
	"time"
)

const day = 24 * time.Hour

// Longest is the longest time that is accepted: a hundred years.
const Longest = 100 * 365 * day

// Parse reads a time in seconds or more: numbers with the units y, M, w, d, h, m and s, each at most once and in this
// order, where the last may have none, which is s. A year has 365 days, and a month 30. It reports false for other
// texts, and for times longer than [Longest].
func Parse(text string) (time.Duration, bool) {
	units := []struct {
		name byte
		time time.Duration
	}{
		{'y', 365 * day},
		{'M', 30 * day},
		{'w', 7 * day},
		{'d', day},
		{'h', time.Hour},
		{'m', time.Minute},
		{'s', time.Second},
	}
	if text == "" {
		return 0, false
	}
	var total time.Duration
	for text != "" {
		end := 0
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		number, err := strconv.ParseUint(text[:end], 10, 32)
		if err != nil {
			return 0, false
		}
		unit := byte('s')
		if text = text[end:]; text != "" {
			unit, text = text[0], text[1:]
		}
		for len(units) > 0 && units[0].name != unit {
			units = units[1:]
		}
		if len(units) == 0 || time.Duration(number) > (Longest-total)/units[0].time {
			return 0, false
		}
		total += time.Duration(number) * units[0].time
		units = units[1:]
	}
	return total, true
}
