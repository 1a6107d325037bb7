package tracing

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of OTLP that is being written: fields may come in any order, and repeated ones one by one.
type message []byte

// The fields of a Span (opentelemetry/proto/trace/v1/trace.proto), and of its Status.
const (
	spanTrace     protowire.Number = 1
	spanIdentity  protowire.Number = 2
	spanState     protowire.Number = 3
	spanParent    protowire.Number = 4
	spanName      protowire.Number = 5
	spanKind      protowire.Number = 6
	spanStart     protowire.Number = 7
	spanEnd       protowire.Number = 8
	spanAttribute protowire.Number = 9
	spanLost      protowire.Number = 10
	spanStatus    protowire.Number = 15
	spanFlags     protowire.Number = 16
	statusMessage protowire.Number = 2
	statusCode    protowire.Number = 3
	scopeSpan     protowire.Number = 2
)

// Those of a KeyValue and an AnyValue (opentelemetry/proto/common/v1/common.proto).
const (
	pairKey     protowire.Number = 1
	pairValue   protowire.Number = 2
	valueText   protowire.Number = 1
	valueBool   protowire.Number = 2
	valueInt    protowire.Number = 3
	valueDouble protowire.Number = 4
	valueArray  protowire.Number = 5
	arrayValues protowire.Number = 1
)

// statusError is the code of a span that has failed.
const statusError = 2

const (
	// longestValue is the length in bytes to which a text is cut.
	longestValue = 1024
	// mostValues is how many values of one header are told.
	mostValues = 16
)

// clean returns a text that is short and valid UTF-8: a collector refuses the whole batch otherwise.
func clean(value string) string {
	if len(value) > longestValue {
		value = value[:longestValue]
	}
	return legible(value)
}

// legible returns a text as valid UTF-8.
func legible(value string) string {
	if !utf8.ValidString(value) {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return value
}

// bytes appends bytes, or a message.
func (m message) bytes(field protowire.Number, value []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), value)
}

// text appends a text, which is clean.
func (m message) text(field protowire.Number, value string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), value)
}

// number appends a number of variable length.
func (m message) number(field protowire.Number, value uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), value)
}

// moment appends a time in nanoseconds since 1970; one before is 1970.
func (m message) moment(field protowire.Number, at time.Time) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), uint64(max(0, at.UnixNano()))) //nolint:gosec // It is not negative.
}

// flags appends the flags of a span.
func (m message) flags(value uint32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, spanFlags, protowire.Fixed32Type), value)
}

// status appends the status of a span that has failed.
func (m message) status(failure string) message {
	length := protowire.SizeTag(statusCode) + protowire.SizeVarint(statusError)
	if failure != "" {
		length += sizeText(statusMessage, failure)
	}
	m = protowire.AppendVarint(protowire.AppendTag(m, spanStatus, protowire.BytesType), uint64(length)) //nolint:gosec // It is a length.
	if failure != "" {
		m = m.text(statusMessage, failure)
	}
	return m.number(statusCode, statusError)
}

// pair begins an attribute whose value has that length.
func (m message) pair(field protowire.Number, key string, value int) message {
	length := sizeText(pairKey, key) + protowire.SizeTag(pairValue) + protowire.SizeBytes(value)
	m = protowire.AppendVarint(protowire.AppendTag(m, field, protowire.BytesType), uint64(length)) //nolint:gosec // It is a length.
	m = m.text(pairKey, key)
	return protowire.AppendVarint(protowire.AppendTag(m, pairValue, protowire.BytesType), uint64(value)) //nolint:gosec // It is a length.
}

// textPair appends an attribute that is a text.
func (m message) textPair(field protowire.Number, key, value string) message {
	value = clean(value)
	return m.pair(field, key, sizeText(valueText, value)).text(valueText, value)
}

// intPair appends an attribute that is a number.
func (m message) intPair(field protowire.Number, key string, value int64) message {
	bits := uint64(value) //nolint:gosec // That is how protobuf writes an int64.
	return m.pair(field, key, protowire.SizeTag(valueInt)+protowire.SizeVarint(bits)).number(valueInt, bits)
}

// listPair appends an attribute that is a list of texts.
func (m message) listPair(field protowire.Number, key string, values []string) message {
	var list message
	for _, value := range values[:min(len(values), mostValues)] {
		value = clean(value)
		list = protowire.AppendVarint(protowire.AppendTag(list, arrayValues, protowire.BytesType), uint64(sizeText(valueText, value))) //nolint:gosec // It is a length.
		list = list.text(valueText, value)
	}
	return m.pair(field, key, protowire.SizeTag(valueArray)+protowire.SizeBytes(len(list))).bytes(valueArray, list)
}

// anyPair appends an attribute of a type that telemetry.Span.Set names; false, and nothing, of another.
func (m message) anyPair(field protowire.Number, key string, value any) (message, bool) {
	switch value := value.(type) {
	case string:
		return m.textPair(field, key, value), true
	case bool:
		return m.pair(field, key, protowire.SizeTag(valueBool)+1).number(valueBool, protowire.EncodeBool(value)), true
	case int:
		return m.intPair(field, key, int64(value)), true
	case int64:
		return m.intPair(field, key, value), true
	case float64:
		m = m.pair(field, key, protowire.SizeTag(valueDouble)+protowire.SizeFixed64())
		return protowire.AppendFixed64(protowire.AppendTag(m, valueDouble, protowire.Fixed64Type), math.Float64bits(value)), true
	case []string:
		return m.listPair(field, key, value), true
	}
	return m, false
}

// sizeText returns how long a text is with its field.
func sizeText(field protowire.Number, value string) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(len(value))
}
