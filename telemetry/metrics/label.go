package metrics

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	// combinationLimit bounds how many combinations of values the header labels may take; those that come later
	// are counted as other.
	combinationLimit = 127
	// labelLimit bounds the bytes of one value.
	labelLimit = 64
	// otherValue is shown for the values of combinations beyond the limit.
	otherValue = "other"
	// hiddenValue is shown for the values of headers that hold credentials.
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
	h.known.Store(&combinations{index: map[string]int{strings.Join(other, "\n") + "\n": 0}, values: [][]string{other}})
	return h
}

// combination returns which combination of values a request has: 0 is other, and negative means that there are
// no labels. Combinations are distinguished by their shown values, since no two lines of a page may have the
// same labels.
func (h *headerLabels) combination(header http.Header) int {
	if h == nil {
		return -1
	}
	var buffer [256]byte
	key := buffer[:0]
	for _, name := range h.headers {
		key = append(append(key, shown(header, name)...), '\n')
	}
	known := h.known.Load()
	for {
		if at, ok := known.index[string(key)]; ok {
			return at
		}
		if len(known.values) > combinationLimit {
			return 0
		}
		text := string(key) // Of its own, because values are parts of the head of a request.
		next := &combinations{index: maps.Clone(known.index), values: append(slices.Clip(known.values), split(text))}
		next.index[text] = len(known.values)
		if h.known.CompareAndSwap(known, next) {
			return len(known.values)
		}
		known = h.known.Load()
	}
}

// each calls visit with each combination that has been counted, and how often.
func (h *headerLabels) each(counts []uint64, visit func(values []string, count uint64)) {
	known := h.known.Load()
	for i, count := range counts {
		if count > 0 && i < len(known.values) {
			visit(known.values[i], count)
		}
	}
}

// split returns the values of which each is ended by the end of a line.
func split(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// shown returns the first value of a header as it may be shown: cut to what a label may hold, on one line, and
// without credentials.
func shown(header http.Header, name string) string {
	values := header[name]
	if len(values) == 0 || values[0] == "" {
		return ""
	}
	switch name {
	case "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key":
		return hiddenValue
	}
	value := text(values[0][:min(len(values[0]), labelLimit)])
	if strings.Contains(value, "\n") { // Not in a header that was received.
		return strings.ReplaceAll(value, "\n", " ")
	}
	return value
}

// text returns what may be the value of a label.
func text(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }
