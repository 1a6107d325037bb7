// Package constraint decides by their labels which containers are read (the option constraints of providers).
//
// In flow an expression such as Label(`tier`,`web`) && !LabelRegex(`stage`,`^test`) and the labels of containers; out
// flows yes or no. The package never looks at anything but labels.
package constraint

import (
	"regexp"
	"slices"
)

// Expression is an expression that has been understood. The zero value, which is that of an empty text, matches
// everything. It is immutable.
type Expression struct {
	root   term
	labels []string
}

// Match reports whether a container with these labels is read.
func (e Expression) Match(labels map[string]string) bool {
	return e.root == nil || e.root.match(labels)
}

// Mentions reports whether the expression tests a label.
func (e Expression) Mentions(label string) bool { return slices.Contains(e.labels, label) }

// term is a part of an expression.
type term interface {
	match(labels map[string]string) bool
}

type (
	and struct{ left, right term }
	or  struct{ left, right term }
	not struct{ term }
	// equal tests for a label with exactly this value. An absent label is empty, as in Traefik.
	equal struct{ key, value string }
	// like tests for a label whose value matches.
	like struct {
		key     string
		pattern *regexp.Regexp
	}
)

func (a and) match(labels map[string]string) bool {
	return a.left.match(labels) && a.right.match(labels)
}

func (o or) match(labels map[string]string) bool {
	return o.left.match(labels) || o.right.match(labels)
}
func (n not) match(labels map[string]string) bool { return !n.term.match(labels) }

func (e equal) match(labels map[string]string) bool {
	return labels[e.key] == e.value
}

func (l like) match(labels map[string]string) bool {
	return l.pattern.MatchString(labels[l.key])
}
