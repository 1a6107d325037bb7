package metrics

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Options select what is exposed.
type Options struct {
	// Buckets are the upper bounds of the classic buckets of durations, in seconds, ascending; without any they
	// are 0.1, 0.3, 1.2 and 5.
	Buckets []float64
	// EntryPoints, Routers and Services enable their metrics on /metrics.
	EntryPoints bool
	Routers     bool
	Services    bool
	// HeaderLabels are additional labels of requests_total, by label, with the header of the request whose
	// value each has. There are at most 127 combinations of values; requests with other ones are counted with
	// the value other. Values are cut at 64 bytes, and those of headers that hold credentials are shown as
	// redacted.
	HeaderLabels map[string]string
	// Dropped counts failures that were not logged; nil means none.
	Dropped func() uint64
	// Pushed is what Pushed gathers; nil when nothing is pushed.
	Pushed *View
}

// View selects the request metrics of one consumer.
type View struct {
	// Buckets are the upper bounds of the classic buckets of durations, in seconds, ascending; without any
	// there are native buckets alone.
	Buckets []float64
	// EntryPoints, Routers and Services enable their metrics.
	EntryPoints bool
	Routers     bool
	Services    bool
}

// orDefault returns the bounds, or Traefik's where there are none.
func orDefault(bounds []float64) []float64 {
	if len(bounds) == 0 {
		return []float64{0.1, 0.3, 1.2, 5}
	}
	return bounds
}

// Validate returns an error for buckets that do not ascend, and for labels that are invalid or in use.
func (o Options) Validate() error {
	if !ascending(o.Buckets) {
		return fmt.Errorf("buckets: %v does not ascend", o.Buckets)
	}
	if o.Pushed != nil && !ascending(o.Pushed.Buckets) {
		return fmt.Errorf("explicitBoundaries: %v does not ascend", o.Pushed.Buckets)
	}
	taken := []string{"code", "method", "protocol", "entrypoint", "router", "service"}
	for _, label := range slices.Sorted(maps.Keys(o.HeaderLabels)) {
		if !labelName(label) || slices.Contains(taken, label) {
			return fmt.Errorf("headerLabels: %q may not be the name of a label", label)
		}
	}
	return nil
}

// ascending reports whether bounds of buckets are finite and each is above the one before.
func ascending(bounds []float64) bool {
	for i, bound := range bounds {
		if math.IsNaN(bound) || math.IsInf(bound, 0) || i > 0 && bound <= bounds[i-1] {
			return false
		}
	}
	return true
}

// labelName reports whether a text may be the name of a label of ours in Prometheus' data model.
func labelName(name string) bool {
	for i, c := range []byte(name) {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "__")
}

// bounds returns the bounds of all views together.
func (o Options) bounds() []float64 {
	all := slices.Clone(orDefault(o.Buckets))
	if o.Pushed != nil {
		all = append(all, o.Pushed.Buckets...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
