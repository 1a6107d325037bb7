package telemetry

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	// combinationLimit bounds how many combinations of values the header labels may take; those that come later are counted as other.
	combinationLimit = 127
	// labelLimit bounds the bytes of one value.
	labelLimit = 64
	// otherValue stands for the values of combinations beyond the limit.
	otherValue = "other"
	// hiddenValue stands for the values of headers that hold credentials.
	hiddenValue = "redacted"
)

// headerLabels turn headers of a request into the values of labels, of a bounded number.
type headerLabels struct {
	labels  []string
	headers []string
	known   atomic.Pointer[combinations]
}

// combinations is what has been seen. It does not change.
type combinations struct {
	index  map[string]int
	values [][]string
}

// newHeaderLabels returns nil for no labels.
func newHeaderLabels(byLabel map[string]string) *headerLabels {
	if len(byLabel) == 0 {
		return nil
	}
	h := &headerLabels{labels: slices.Sorted(maps.Keys(byLabel))}
	other := make([]string, len(h.labels))
	for i, label := range h.labels {
		h.headers = append(h.headers, http.CanonicalHeaderKey(byLabel[label]))
		other[i] = otherValue
	}
	h.known.Store(&combinations{index: map[string]int{}, values: [][]string{other}})
	return h
}

// combination returns which combination of values a request has: 0 is other, and negative means that there are no labels.
func (h *headerLabels) combination(header http.Header) int {
	if h == nil {
		return -1
	}
	var buffer [256]byte
	key := buffer[:0]
	for _, name := range h.headers {
		key = append(append(key, headerValue(header, name)...), '\n')
	}
	known := h.known.Load()
	for {
		if at, ok := known.index[string(key)]; ok {
			return at
		}
		if len(known.values) > combinationLimit {
			return 0
		}
		next := &combinations{index: maps.Clone(known.index), values: append(slices.Clip(known.values), h.shown(header))}
		next.index[string(key)] = len(known.values)
		if h.known.CompareAndSwap(known, next) {
			return len(known.values)
		}
		known = h.known.Load()
	}
}

// shown returns the values of a request as they may be shown.
func (h *headerLabels) shown(header http.Header) []string {
	values := make([]string, len(h.headers))
	for i, name := range h.headers {
		values[i] = text(headerValue(header, name))
		switch name {
		case "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key":
			if values[i] != "" {
				values[i] = hiddenValue
			}
		}
	}
	return values
}

// headerValue returns the first value of a header, cut to what a label may hold.
func headerValue(header http.Header, name string) string {
	values := header[name]
	if len(values) == 0 {
		return ""
	}
	return values[0][:min(len(values[0]), labelLimit)]
}

// text returns what may be the value of a label.
func text(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }
