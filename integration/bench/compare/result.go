package main

import (
	"fmt"
	"strconv"
	"strings"
)

// resultLine parses a result line: a prefix, and NAME=VALUE pairs.
func resultLine(begin, printed string) (map[string]float64, error) {
	for line := range strings.Lines(printed) {
		pairs, found := strings.CutPrefix(line, begin)
		if !found {
			continue
		}
		values := map[string]float64{}
		for _, pair := range strings.Fields(pairs) {
			name, number, _ := strings.Cut(pair, "=")
			value, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return nil, fmt.Errorf("the result holds %q: %w", pair, err)
			}
			values[name] = value
		}
		return values, nil
	}
	return nil, fmt.Errorf("no result was printed:\n%s", printed)
}
