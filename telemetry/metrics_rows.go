package telemetry

import (
	"crypto/tls"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// ownLabels is how many bytes of labels each cell is given room for at first.
const ownLabels = 128

// labelPair is a label and its value.
type labelPair struct{ name, value string }

// row is a cell with its labels, which are in memory that rows share.
type row struct {
	series   *Series
	key      uint64
	cell     *cell
	from, to int
}

// of returns the row's part of the labels of all.
func (r *row) of(labels []byte) []byte { return labels[r.from:r.to:r.to] }

// rowsOf returns the cells of a level, and the memory of their labels as write has written them.
func rowsOf(r ranks, write func(labels []byte, pairs []labelPair) []byte) (rows []row, labels []byte) {
	rows = make([]row, 0, len(r.series))
	labels = make([]byte, 0, ownLabels*len(r.series))
	var pairs []labelPair
	for _, s := range r.series {
		s.cells.sorted(func(key uint64, c *cell) {
			from := len(labels)
			pairs = r.cell(pairs[:0], s, key)
			labels = write(labels, pairs)
			rows = append(rows, row{s, key, c, from, len(labels)})
		})
	}
	return rows, labels
}

// cell appends the labels of a cell, by name.
func (l *level) cell(pairs []labelPair, s *Series, key uint64) []labelPair {
	pairs = append(pairs, labelPair{"code", strconv.Itoa(keyStatus(key))})
	if l.kind == TrafficEntrypoints {
		pairs = l.own(pairs, s)
	}
	pairs = append(pairs, labelPair{"method", methodName(keyMethod(key))}, labelPair{"protocol", protocolName(keyProtocol(key))})
	if l.kind != TrafficEntrypoints {
		pairs = l.own(pairs, s)
	}
	return pairs
}

// own appends the labels that are a series' own.
func (l *level) own(pairs []labelPair, s *Series) []labelPair {
	pairs = append(pairs, labelPair{l.label, s.name})
	if s.router {
		pairs = append(pairs, labelPair{"service", s.service})
	}
	return pairs
}

// eachSecure calls visit with the labels of each kind of TLS that a series has seen, by name, and how often.
func (r *ranks) eachSecure(visit func(pairs []labelPair, count uint64)) {
	var pairs []labelPair
	for _, s := range r.series {
		s.secure.sorted(func(key uint64, count *atomic.Uint64) {
			pairs = append(r.own(pairs[:0], s),
				labelPair{"tls_cipher", tls.CipherSuiteName(uint16(key))}, labelPair{"tls_version", TLSVersionName(uint16(key >> 16))})
			visit(pairs, count.Load())
		})
	}
}

// each calls visit with each combination that a cell has counted, and how often.
func (h *headerLabels) each(c *cell, visit func(values []string, count uint64)) {
	counts := c.combinations.Load()
	if counts == nil {
		return
	}
	known := h.known.Load()
	for i := range counts {
		if count := counts[i].Load(); count > 0 && i < len(known.values) {
			visit(known.values[i], count)
		}
	}
}

// with appends the labels with their values to those of a cell, and has all of them by name.
func (h *headerLabels) with(pairs []labelPair, values []string) []labelPair {
	for i, label := range h.labels {
		pairs = append(pairs, labelPair{label, values[i]})
	}
	slices.SortFunc(pairs, func(a, b labelPair) int { return strings.Compare(a.name, b.name) })
	return pairs
}
