package propagate

import (
	"net/url"
	"strings"
)

// DefaultBaggageKey is the key of the member of W3C Baggage of a Propagator that names none.
const DefaultBaggageKey = "virtual-env"

// baggageField is the name of the field (W3C Baggage, "Header Name").
const baggageField = "Baggage"

// Limits of what others must hand on (W3C Baggage, "Limits").
const (
	maxBaggageLength  = 8192
	maxBaggageMembers = 64
)

// whitespace is optional around the delimiters of W3C Baggage.
const whitespace = " \t"

// maxLabelLength is that of the values of labels in Kubernetes.
const maxLabelLength = 63

// fromBaggage returns the tag in W3C Baggage, empty if there is none. Several fields are one list (RFC 9110, section
// 5.3).
func (p Propagator) fromBaggage(getter Getter) string {
	tag := ""
	for _, list := range getter.Values(baggageField) {
		for more := true; more; {
			var one string
			one, list, more = strings.Cut(list, ",")
			if value, ok := member(one, p.baggageKey()); ok && label(value) {
				tag = value
			}
		}
	}
	return tag
}

// addToBaggage adds the member to W3C Baggage that has none of the key, after all others. It is left out where the tag
// is no label value, which readers would ignore, and where the list would get longer than others must hand on.
func (p Propagator) addToBaggage(carrier Carrier, tag string) {
	if !label(tag) {
		return
	}
	list := strings.Join(carrier.Values(baggageField), ",")
	members := 0
	for rest, more := list, true; more; members++ {
		var one string
		one, rest, more = strings.Cut(rest, ",")
		if _, found := member(one, p.baggageKey()); found {
			return
		}
	}
	added := p.baggageKey() + "=" + tag
	if strings.Trim(list, whitespace) != "" {
		if members >= maxBaggageMembers {
			return
		}
		added = list + "," + added
	}
	if len(added) <= maxBaggageLength {
		carrier.Set(baggageField, added)
	}
}

// member returns the value of a list member of W3C Baggage, without properties and percent-decoded, if it has the key.
// Keys are case-sensitive. A value that cannot be decoded is empty.
func member(text, key string) (string, bool) {
	text, _, _ = strings.Cut(text, ";")
	name, value, _ := strings.Cut(text, "=")
	if strings.Trim(name, whitespace) != key {
		return "", false
	}
	decoded, err := url.PathUnescape(strings.Trim(value, whitespace))
	if err != nil {
		return "", true
	}
	return decoded, true
}

// baggageKey returns the key of the member.
func (p Propagator) baggageKey() string {
	if p.BaggageKey == "" {
		return DefaultBaggageKey
	}
	return p.BaggageKey
}

// label reports whether a text is the value of a label in Kubernetes, and not empty.
func label(value string) bool {
	if value == "" || len(value) > maxLabelLength {
		return false
	}
	for i := range len(value) {
		inner := i > 0 && i < len(value)-1
		if !alphanumeric(value[i]) && (!inner || !strings.ContainsRune("-_.", rune(value[i]))) {
			return false
		}
	}
	return true
}

// alphanumeric reports whether a byte is an ASCII letter or digit.
func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
