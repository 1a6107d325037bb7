package static

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// origin is where a setting was written.
type origin struct {
	file string // the file, "environment NAME" or "flag --NAME"
	line int
	rank rank
}

// rank orders the sources; a greater one overrides a smaller one.
type rank int

const (
	rankFile rank = iota
	rankEnvironment
	rankFlag
)

// item is one value as text.
type item struct {
	text string
	line int
}

// setting is one node of the tree of everything that was written, after all sources have been merged.
type setting struct {
	option   *option
	name     string // as it was spelled first
	path     string
	origin   origin // of what is effective; of a section, of what made it
	written  bool   // a value, or the section itself, was written
	removed  bool   // the section was switched off
	items    []item // one for a scalar
	children []*setting
}

// child returns the setting of that name, or nil; case does not count.
func (s *setting) child(name string) *setting {
	for _, child := range s.children {
		if strings.EqualFold(child.name, name) {
			return child
		}
	}
	return nil
}

// enter returns the setting of that name below s, and makes it when there is none.
// Entering a section that was switched off switches it on again.
func (s *setting) enter(o *option, name string, from origin) *setting {
	s.removed = false
	if child := s.child(name); child != nil {
		return child
	}
	path := name
	if s.path != "" {
		path = s.path + "." + name
		if strings.HasPrefix(name, "[") {
			path = s.path + name
		}
	}
	child := &setting{option: o, name: name, path: path, origin: from}
	s.children = append(s.children, child)
	return child
}

// set gives the setting its values, or marks the section as written.
func (s *setting) set(from origin, items []item) {
	s.written, s.removed, s.items, s.origin = true, false, items, from
}

// remove switches the section off; whatever was written below it is forgotten.
func (s *setting) remove(from origin) {
	s.written, s.removed, s.children, s.origin = true, true, nil, from
}

// locate returns the origin and the path of what was written for names below s, or of the nearest thing above it.
// An element of a list is named "[0]".
func (s *setting) locate(names ...string) (from origin, path string) {
	for i, name := range names {
		child := s.child(name)
		if child == nil {
			return s.beyond(names[i:])
		}
		s = child
	}
	return s.origin, s.path
}

// beyond locates names that have no setting of their own below s.
func (s *setting) beyond(names []string) (from origin, path string) {
	from, path = s.origin, s.path
	for _, name := range names {
		var index int
		if _, err := fmt.Sscanf(name, "[%d]", &index); err == nil {
			path += name
			if index < len(s.items) && s.items[index].line > 0 {
				from.line = s.items[index].line
			}
			continue
		}
		path = strings.TrimPrefix(path+"."+name, ".")
	}
	return from, path
}

// report collects findings.
type report struct {
	findings []Finding
}

func (r *report) add(severity Severity, from origin, path, reason string) {
	r.findings = append(r.findings, Finding{Severity: severity, File: from.file, Line: from.line, Option: path, Reason: reason})
}

func (r *report) fail(from origin, path, format string, args ...any) {
	r.add(Error, from, path, fmt.Sprintf(format, args...))
}

// sorted returns the findings in the order of the sources and, within a file, of its lines.
func (r *report) sorted() []Finding {
	order := func(f Finding) int {
		switch {
		case strings.HasPrefix(f.File, "environment "):
			return 1
		case strings.HasPrefix(f.File, "flag "):
			return 2
		case f.File == "":
			return 3
		default:
			return 0
		}
	}
	slices.SortStableFunc(r.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Line, b.Line))
	})
	return r.findings
}
