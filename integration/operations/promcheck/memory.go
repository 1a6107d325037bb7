package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// scrape is a page of metrics.
type scrape struct {
	// Seconds is its time, as a Unix time.
	Seconds float64 `json:"seconds"`
	// Text is the page in the text format; Labels are added to each of its series.
	Text   string            `json:"text"`
	Labels map[string]string `json:"labels"`
}

// memory is a storage of scrapes for the query engine.
type memory struct {
	series []*kept
	last   int64
}

// kept is one series.
type kept struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// read parses pages in the order of their times.
func read(pages []scrape) (*memory, error) {
	m := &memory{}
	byLabels := map[string]*kept{}
	for _, page := range pages {
		at := int64(page.Seconds * 1000)
		if at < m.last {
			return nil, fmt.Errorf("a scrape at %v follows a later one", page.Seconds)
		}
		m.last = at
		err := parse(page, func(series labels.Labels, value float64) {
			key := series.String()
			one := byLabels[key]
			if one == nil {
				one = &kept{labels: series}
				byLabels[key] = one
				m.series = append(m.series, one)
			}
			one.samples = append(one.samples, sample{at: at, value: value})
		})
		if err != nil {
			return nil, fmt.Errorf("the scrape at %v: %w", page.Seconds, err)
		}
	}
	slices.SortFunc(m.series, func(a, b *kept) int { return labels.Compare(a.labels, b.labels) })
	return m, nil
}

// parse parses a page as Prometheus does.
func parse(page scrape, each func(labels.Labels, float64)) error {
	parser, err := textparse.New([]byte(page.Text), "text/plain; version=0.0.4", nil, textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var found labels.Labels
		parser.Labels(&found)
		builder := labels.NewBuilder(found)
		for name, value := range page.Labels {
			builder.Set(name, value)
		}
		_, _, value := parser.Series()
		each(builder.Labels(), value)
	}
}

// Querier returns a querier for a time range.
func (m *memory) Querier(from, to int64) (storage.Querier, error) {
	return querier{memory: m, from: from, to: to}, nil
}

// querier implements storage.Querier.
type querier struct {
	memory   *memory
	from, to int64
}

// Select returns the series that match.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints,
	matchers ...*labels.Matcher,
) storage.SeriesSet {
	found := &set{}
	for _, one := range q.memory.series {
		if !matches(one.labels, matchers) {
			continue
		}
		samples := slices.DeleteFunc(slices.Clone(one.samples), func(s chunks.Sample) bool {
			return s.T() < q.from || s.T() > q.to
		})
		if len(samples) > 0 {
			found.rest = append(found.rest, storage.NewListSeries(one.labels, samples))
		}
	}
	return found
}

func matches(series labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(series.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

// LabelValues is not used by expressions.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error,
) {
	return nil, nil, errors.ErrUnsupported
}

// LabelNames is not used by expressions.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations,
	error,
) {
	return nil, nil, errors.ErrUnsupported
}

// Close does nothing.
func (querier) Close() error { return nil }

// set is the result of Select.
type set struct {
	current storage.Series
	rest    []storage.Series
}

// Next advances to the next series.
func (s *set) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.current, s.rest = s.rest[0], s.rest[1:]
	return true
}

// At returns the series.
func (s *set) At() storage.Series { return s.current }

// Err returns nil.
func (s *set) Err() error { return nil }

// Warnings returns nil.
func (s *set) Warnings() annotations.Annotations { return nil }

// sample is a number at a time.
type sample struct {
	at    int64
	value float64
}

// T returns the time in milliseconds.
func (s sample) T() int64 { return s.at }

// ST returns 0: the start of a series is unknown.
func (s sample) ST() int64 { return 0 }

// F returns the value.
func (s sample) F() float64 { return s.value }

// H returns nil: the text format has no native histograms.
func (s sample) H() *histogram.Histogram { return nil }

// FH returns nil, as H does.
func (s sample) FH() *histogram.FloatHistogram { return nil }

// Type returns the type of a float.
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// Copy returns the sample.
func (s sample) Copy() chunks.Sample { return s }
