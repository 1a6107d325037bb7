package circuitbreaker

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expression is a parsed condition with what it needs to count.
type expression struct {
	measures []measure
	holds    condition
	// ranges are the counted ranges of status codes.
	ranges []span
	// timed is set if latencies are needed; patience is the latency above which a request without a response certainly
	// counts as slow.
	timed    bool
	patience time.Duration
}

// measure is a function that the condition calls.
type measure struct {
	text string
	of   func(w *window, now time.Duration) float64
}

// condition evaluates the figures of the measures.
type condition func(figures []float64) bool

// Functions of the language.
const (
	networkErrorRatio = "NetworkErrorRatio"
	responseCodeRatio = "ResponseCodeRatio"
	latencyAtQuantile = "LatencyAtQuantileMS"
	requestThreshold  = "RequestThreshold"
	functions         = "LatencyAtQuantileMS, NetworkErrorRatio, RequestThreshold, ResponseCodeRatio"
)

// figures evaluates the measures.
func (e *expression) figures(w *window, now time.Duration) []float64 {
	figures := make([]float64, len(e.measures))
	for i, measure := range e.measures {
		figures[i] = measure.of(w, now)
	}
	return figures
}

// text returns figures for the log.
func (e *expression) text(figures []float64) string {
	parts := make([]string, len(figures))
	for i, figure := range figures {
		parts[i] = e.measures[i].text + " is " + strconv.FormatFloat(figure, 'g', 4, 64)
	}
	return strings.Join(parts, ", ")
}

// measure returns the index of a measure; equal arguments share one.
func (e *expression) measure(name string, arguments []float64) (int, error) {
	texts := make([]string, len(arguments))
	for i, argument := range arguments {
		texts[i] = strconv.FormatFloat(argument, 'f', -1, 64)
	}
	m := measure{text: name + "(" + strings.Join(texts, ", ") + ")"}
	if known := slices.IndexFunc(e.measures, func(other measure) bool { return other.text == m.text }); known >= 0 {
		return known, nil
	}
	wanted, known := map[string]int{
		networkErrorRatio: 0, requestThreshold: 0, latencyAtQuantile: 1,
		responseCodeRatio: 4,
	}[name]
	if !known {
		return 0, fmt.Errorf("unknown function %q; one of %s", name, functions)
	}
	if len(arguments) != wanted {
		return 0, fmt.Errorf("%s is given %d arguments and takes %d", name, len(arguments), wanted)
	}
	var err error
	switch name {
	case networkErrorRatio:
		m.of = (*window).networkErrors
	case requestThreshold:
		m.of = func(w *window, now time.Duration) float64 { return float64(w.requests(now)) }
	case latencyAtQuantile:
		m.of, err = e.latency(arguments[0])
	case responseCodeRatio:
		m.of, err = e.ratio(arguments)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.text, err)
	}
	e.measures = append(e.measures, m)
	return len(e.measures) - 1, nil
}

func (e *expression) latency(percent float64) (func(w *window, now time.Duration) float64, error) {
	if percent <= 0 || percent > 100 {
		return nil, errors.New("a quantile is more than 0 and at most 100")
	}
	e.timed = true
	return func(w *window, now time.Duration) float64 { return w.quantile(now, percent) }, nil
}

func (e *expression) ratio(arguments []float64) (func(w *window, now time.Duration) float64, error) {
	var numbers [2]int
	for i := range numbers {
		from, to := arguments[2*i], arguments[2*i+1]
		codes := span{int(from), int(to)}
		if from != float64(codes.from) || to != float64(codes.to) {
			return nil, errors.New("status codes are whole numbers")
		}
		if codes.from >= codes.to {
			return nil, fmt.Errorf("no status code is at least %d and below %d", codes.from, codes.to)
		}
		known := slices.Index(e.ranges, codes)
		if known < 0 {
			known = len(e.ranges)
			e.ranges = append(e.ranges, codes)
		}
		numbers[i] = firstRange + known
	}
	return func(w *window, now time.Duration) float64 { return w.ratio(now, numbers[0], numbers[1]) }, nil
}
