package telemetry

import (
	"encoding/binary"
	"math"
)

// message is a message of protobuf that is being written.
type message []byte

// field is the number of a field in a message.
type field uint64

// The fields of Prometheus' messages that are written here: those of a family, a metric and its label, a counter and a gauge.
const (
	familyName      field = 1
	familyHelp      field = 2
	familyType      field = 3
	familyMetric    field = 4
	metricLabel     field = 1
	metricGauge     field = 2
	metricCounter   field = 3
	metricHistogram field = 7
	labelNames      field = 1
	labelValue      field = 2
	counterValue    field = 1
	gaugeValue      field = 1
)

// Those of a histogram, of a classic bucket, and of a span of native ones.
const (
	histogramCount     field = 1
	histogramSum       field = 2
	histogramBucket    field = 3
	histogramSchema    field = 5
	histogramThreshold field = 6
	histogramZero      field = 7
	histogramSpan      field = 12
	histogramDelta     field = 13
	bucketCount        field = 1
	bucketBound        field = 2
	spanOffset         field = 1
	spanLength         field = 2
)

// How a field is written.
const (
	asVarint = 0
	asDouble = 1
	asBytes  = 2
)

// tag begins a field.
func (m message) tag(f field, as uint64) message { return binary.AppendUvarint(m, uint64(f)<<3|as) }

// number appends an unsigned number.
func (m message) number(f field, value uint64) message {
	return binary.AppendUvarint(m.tag(f, asVarint), value)
}

// signed appends a number that may be negative, of type sint32 or sint64.
func (m message) signed(f field, value int64) message {
	return binary.AppendVarint(m.tag(f, asVarint), value)
}

// double appends a number with a fraction.
func (m message) double(f field, value float64) message {
	return binary.LittleEndian.AppendUint64(m.tag(f, asDouble), math.Float64bits(value))
}

// bytes appends a message.
func (m message) bytes(f field, value []byte) message {
	return append(binary.AppendUvarint(m.tag(f, asBytes), uint64(len(value))), value...)
}

// text appends a text.
func (m message) text(f field, value string) message {
	return append(binary.AppendUvarint(m.tag(f, asBytes), uint64(len(value))), value...)
}

// span appends a span of native buckets to a histogram: how far it is from the one before, and how many there are.
func (m message) span(offset, length int) message {
	var b [2 * (1 + binary.MaxVarintLen64)]byte
	return m.bytes(histogramSpan, message(b[:0]).signed(spanOffset, int64(offset)).number(spanLength, uint64(length)))
}

// varintLength returns how many bytes a number takes.
func varintLength(value uint64) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutUvarint(b[:], value)
}
