// Package headerlist edits the headers of requests and responses by lists of edits. Responses whose fields come as a
// list are edited as such, without a map.
package headerlist

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// ValidName reports whether a name is a token (RFC 9110 section 5.6.2), as those of headers and methods are.
func ValidName(name string) bool { return wire.ValidToken(name) }

// Edit is a change of one header.
type Edit struct {
	// Name is in net/http's canonical spelling.
	Name  string
	Value string
	Kind  Kind
}

// Kind is what an [Edit] does.
type Kind uint8

const (
	// Remove removes all values.
	Remove Kind = iota
	// Set replaces all values by one.
	Set
	// Add appends a value.
	Add
)

// Parse validates the options set, add and remove of a middleware and returns their edits: names are tokens of which
// each occurs once, values have no control characters, and headers that frame messages are left alone. An error names
// the option.
func Parse(middleware string, set, add []dynamic.HeaderValue, remove []string) ([]Edit, error) {
	if len(set)+len(add)+len(remove) == 0 {
		return nil, fmt.Errorf("%s has none of set, add and remove", middleware)
	}
	p := parser{middleware: middleware, seen: map[string]string{}}
	for _, name := range remove {
		p.add("remove", Remove, dynamic.HeaderValue{Name: name})
	}
	for _, one := range set {
		p.add("set", Set, one)
	}
	for _, one := range add {
		p.add("add", Add, one)
	}
	return p.edits, p.err
}

// parser collects edits up to the first error.
type parser struct {
	middleware string
	seen       map[string]string
	edits      []Edit
	err        error
}

func (p *parser) add(option string, kind Kind, one dynamic.HeaderValue) {
	fail := func(format string, args ...any) {
		if p.err == nil {
			p.err = fmt.Errorf("%s.%s: "+format, append([]any{p.middleware, option}, args...)...)
		}
	}
	name := http.CanonicalHeaderKey(one.Name)
	other, twice := p.seen[name]
	switch {
	case !wire.ValidToken(one.Name):
		fail("%q is not a header name", one.Name)
	case twice && other == option:
		fail("%s is listed twice", one.Name)
	case twice:
		fail("%s is in %s too", one.Name, other)
	case !wire.ValidValue(one.Value):
		fail("the value of %s has a control character", one.Name)
	case name == "Content-Length" || name == "Transfer-Encoding":
		fail("%s frames the message and can't be changed", one.Name)
	}
	p.seen[name] = option
	p.edits = append(p.edits, Edit{Name: name, Value: strings.Trim(one.Value, " \t"), Kind: kind})
}

// EditRequest applies edits to the headers of a request. A header that is set or removed is removed together with its
// aliases, also from trailers, so that clients cannot forge it; names are those of such edits.
func EditRequest(r *http.Request, edits []Edit, names []string) {
	if len(names) > 0 {
		forwarded.RemoveHeader(r.Header, names...)
		forwarded.RemoveTrailers(r, names...)
	}
	var values []string
	for i, edit := range edits {
		switch edit.Kind {
		case Remove:
			if edit.Name == forwarded.XForwardedFor {
				r.Header[edit.Name] = nil // A nil value also keeps forwarding from appending the client.
			}
		case Set:
			if values == nil {
				values = make([]string, len(edits))
			}
			values[i] = edit.Value
			r.Header[edit.Name] = values[i : i+1 : i+1]
		case Add:
			forwarded.AddHeader(r.Header, edit.Name, edit.Value)
		}
	}
}

// Names returns the names of the headers that edits set or remove.
func Names(edits []Edit) []string {
	var names []string
	for _, edit := range edits {
		if edit.Kind != Add {
			names = append(names, edit.Name)
		}
	}
	return names
}

// apply applies edits to the headers of a response.
func apply(header http.Header, edits []Edit) {
	for _, edit := range edits {
		switch edit.Kind {
		case Remove:
			delete(header, edit.Name)
		case Set:
			header[edit.Name] = []string{edit.Value}
		case Add:
			values := header[edit.Name]
			header[edit.Name] = append(values[:len(values):len(values)], edit.Value)
		}
	}
}

// applyList is apply for a list.
func applyList(fields []wire.Field, edits []Edit) []wire.Field {
	fields = slices.DeleteFunc(fields, func(field wire.Field) bool {
		return slices.ContainsFunc(edits, func(e Edit) bool { return e.Kind != Add && e.Name == field.Name })
	})
	for _, edit := range edits {
		if edit.Kind != Remove {
			fields = append(fields, wire.Field{Name: edit.Name, Value: edit.Value})
		}
	}
	return fields
}
