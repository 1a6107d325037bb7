package annotation

import (
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/static"
)

// state says what an annotation holds.
type state int

const (
	// absent is not set.
	absent state = iota
	// blank is set to nothing.
	blank
	// wrong is set to a value that ingress-nginx refuses.
	wrong
	// valid is set to a value that it accepts.
	valid
)

// raw returns the value of an annotation, and notes that it is read.
func (r *reading) raw(name string) (string, bool) {
	key := r.key(name)
	value, given := r.values[key]
	if !given {
		return "", false
	}
	spec := r.index.specs[name]
	for _, other := range append([]string{name}, spec.Aliases...) {
		if _, set := r.values[other]; set && other != key {
			r.set(other, Unused, "ingress-nginx reads "+key+", another name of the same annotation")
		}
	}
	switch spec.Support {
	case Same:
		r.set(key, Honoured, "")
	case Differs:
		r.set(key, Different, spec.Note)
	case Refused:
		r.set(key, Unsupported, spec.Note+replacement(spec.Replacement))
	case NoEffect:
		r.set(key, Unused, spec.Note)
	}
	return value, true
}

func replacement(text string) string {
	if text == "" {
		return ""
	}
	return "; use " + text
}

// text reads an annotation that holds a text; ok reports whether ingress-nginx accepts it. Lines are trimmed.
func (r *reading) text(name string, ok func(string) bool) (string, state) {
	value, given := r.raw(name)
	switch {
	case !given:
		return "", absent
	case value != "" && !ok(value):
		r.useless(name, value)
		return "", wrong
	}
	lines := strings.Split(value, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	text := strings.Join(lines, "\n")
	if strings.TrimSpace(text) == "" {
		r.unused(r.key(name), "the value is empty")
		return "", blank
	}
	return text, valid
}

// flag reads an annotation that is true or false.
func (r *reading) flag(name string) (bool, state) {
	value, given := r.raw(name)
	if !given {
		return false, absent
	}
	if value == "" {
		r.unused(name, "the value is empty")
		return false, blank
	}
	parsed, err := strconv.ParseBool(value)
	if err != nil {
		r.useless(name, value)
		return false, wrong
	}
	return parsed, valid
}

// flagOr reads an annotation that is true or false, with a default for anything else.
func (r *reading) flagOr(name string, otherwise bool) bool {
	if value, state := r.flag(name); state == valid {
		return value
	}
	return otherwise
}

// mostNumber bounds numbers to what ingress-nginx can pass on to nginx and Lua, and their products to int64.
const mostNumber = 1<<31 - 1

// number reads an annotation that is a whole number.
func (r *reading) number(name string) (int, state) {
	value, given := r.raw(name)
	if !given {
		return 0, absent
	}
	if value == "" {
		r.unused(name, "the value is empty")
		return 0, blank
	}
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		r.useless(name, value)
		return 0, wrong
	}
	return int(max(-mostNumber, min(parsed, mostNumber))), valid
}

// numberOr reads a whole number, with a default for anything else. A negative one makes nginx refuse its
// configuration.
func (r *reading) numberOr(name string, otherwise int) int {
	value, state := r.number(name)
	switch {
	case state != valid:
		return otherwise
	case value < 0:
		r.reject(name, "nginx accepts no negative number")
		return otherwise
	}
	return value
}

// reference reads the name of an object: NAMESPACE/NAME, or NAME where that is allowed. It returns why ingress-nginx
// does not accept it.
func (r *reading) reference(text string, bare bool) (*Reference, string) {
	namespace, name, ok := static.ObjectName(text)
	if own := strings.TrimPrefix(text, "/"); !ok && bare && own != "" && !strings.Contains(own, "/") {
		namespace, name, ok = r.namespace, own, true
	}
	switch {
	case !ok:
		return nil, quote(text) + " is not of the form NAMESPACE/NAME"
	case namespace != r.namespace && !r.settings.AllowCrossNamespace:
		return nil, quote(text) + " is in another namespace, which allow-cross-namespace-resources does not permit"
	}
	return &Reference{namespace, name}, ""
}
