// Package snippet reads directives of nginx, as ingress-nginx has them in its annotations for snippets. They are never
// executed: Protects says whether access may depend on them, and Read proposes middlewares that do the same as common
// directives.
package snippet

import (
	"errors"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Proposal is what takes the place of directives.
type Proposal struct {
	// Kind is the kind of the middleware. It is empty if nothing takes their place, since Sluice does the same anyway.
	Kind string
	// Middleware is the middleware; nil without a kind.
	Middleware *dynamic.Middleware
	// Match is a rule that is added to that of the route (&&): the middleware belongs to a route of its own, which comes
	// before the one without. It is empty if the middleware is for all requests.
	Match string
	// Lines are those of the snippet on which the directives begin, from 1 on.
	Lines []int
	// Replaces are the directives, each on a line.
	Replaces string
	// Caveats are differences, if there are any, and what must be known.
	Caveats []string
	// Protects says that the directives restrict access.
	Protects bool
}

// Rest is a directive for which nothing is proposed.
type Rest struct {
	// Line is that of the snippet on which it begins, from 1 on.
	Line int
	// Directive is the directive, or what is there of it, with at most 64 bytes.
	Directive string
	// Reason says why.
	Reason string
}

// Result is the reading of a snippet.
type Result struct {
	// Proposals are in the order of the first line of each.
	Proposals []Proposal
	// Rest is in the order of lines.
	Rest []Rest
	// Protects says that access may depend on the snippet, see [Protects].
	Protects bool
}

// Read reads a snippet of at most [Most] bytes. Proposals are for the place where the snippet is: those of a
// server-snippet are for all routes of the host that have no directives of the same name of their own. A text that is
// no configuration of nginx has its first mistake among the rest.
func Read(text string) Result {
	found, err := parse(text)
	r := &reader{}
	r.directives(found)
	if err != nil {
		var syntax *SyntaxError
		errors.As(err, &syntax)
		r.out.Rest = append(r.out.Rest, Rest{Line: syntax.Line, Reason: syntax.Reason + "; what follows is not read"})
	}
	slices.SortStableFunc(r.out.Rest, func(a, b Rest) int { return a.Line - b.Line })
	slices.SortStableFunc(r.out.Proposals, func(a, b Proposal) int { return a.Lines[0] - b.Lines[0] })
	_, r.out.Protects = Protects(text)
	return r.out
}

// reader is the reading of one snippet.
type reader struct {
	out Result
	// response and request are the proposals that later directives about headers are added to; -1 for none.
	response, request *edits
}

// rest notes a directive for which nothing is proposed.
func (r *reader) rest(one *directive, reason string) {
	text := one.String()
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown-len("…")], "") + "…"
	}
	r.out.Rest = append(r.out.Rest, Rest{Line: one.line, Directive: text, Reason: reason})
}

// propose adds a proposal for directives.
func (r *reader) propose(p Proposal, directives ...*directive) {
	p.of(directives...)
	r.out.Proposals = append(r.out.Proposals, p)
}

// of adds directives to what a proposal replaces.
func (p *Proposal) of(directives ...*directive) {
	for _, one := range directives {
		p.Lines = append(p.Lines, one.line)
		if p.Replaces != "" {
			p.Replaces += "\n"
		}
		p.Replaces += one.String()
	}
}

// directives reads the directives of the snippet. Those that work together are read together.
func (r *reader) directives(found []*directive) {
	found = r.lists(found)
	found = r.cors(found)
	r.response, r.request = &edits{of: response}, &edits{of: request}
	for _, one := range found {
		r.directive(one)
	}
	r.response.flush(r)
	r.request.flush(r)
}

func (r *reader) directive(one *directive) {
	switch name := one.name(); name {
	case "add_header", "more_set_headers", "more_clear_headers", "proxy_hide_header", "expires":
		r.responseHeader(one)
	case "proxy_set_header", "more_set_input_headers", "more_clear_input_headers":
		r.requestHeader(one)
	case "return":
		r.returns(one)
	case "rewrite":
		r.rewrite(one)
	case "if":
		r.condition(one)
	case "location":
		r.rest(one, "it is a location of its own, which needs a route of its own")
	case "deny", "allow", "satisfy":
		r.rest(one, "this order of deny and allow has no equivalent")
	default:
		r.rest(one, "it is not recognised")
	}
}
