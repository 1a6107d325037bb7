// Package proxyrewrite rewrites values in response headers by lists of rewrites, as nginx does (proxy_redirect,
// proxy_cookie_domain, proxy_cookie_path).
package proxyrewrite

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Kind is the kind of values that a list is for.
type Kind uint8

const (
	// Prefix is for values whose beginning is replaced, as written.
	Prefix Kind = iota
	// Domain is for domains, which are replaced as a whole, but for a dot before them, and compared without case.
	Domain
)

// List is a list of rewrites, of which the first one that matches a value is applied. It is immutable.
type List struct {
	kind     Kind
	rewrites []rewrite
	// variables is set if a text has variables other than groups.
	variables bool
}

// rewrite is one rewrite: pattern is nil without a regular expression.
type rewrite struct {
	pattern  *pcre.Regexp
	from, to variable.Template
}

// Parse reads a list of rewrites; option is its name, for errors.
func Parse(option string, kind Kind, list []dynamic.ProxyRewrite) (*List, error) {
	l := &List{kind: kind}
	for i, one := range list {
		parsed, err := l.parse(one)
		if err != nil {
			return nil, fmt.Errorf("%s[%d].%w", option, i, err)
		}
		l.rewrites = append(l.rewrites, parsed)
		l.variables = l.variables || varies(parsed.from) || varies(parsed.to)
	}
	return l, nil
}

func (l *List) parse(one dynamic.ProxyRewrite) (rewrite, error) {
	var made rewrite
	var err error
	pattern, expression := strings.CutPrefix(one.From, "~")
	switch {
	case one.From == "":
		return made, errors.New("from is empty")
	case expression:
		caseless, ignores := strings.CutPrefix(pattern, "*")
		flags := pcre.Flags(0)
		if ignores || l.kind == Domain {
			pattern, flags = caseless, pcre.Caseless
		}
		if made.pattern, err = pcre.Compile(pattern, flags); err != nil {
			return made, fmt.Errorf("from: %w", err)
		}
	default:
		if l.kind == Domain {
			one.From, one.To = strings.TrimPrefix(one.From, "."), strings.TrimPrefix(one.To, ".")
		}
		if made.from, err = variable.ParseLive(one.From); err != nil {
			return made, fmt.Errorf("from: %w", err)
		}
	}
	if made.to, err = variable.ParseReplacement(one.To, made.pattern); err == nil {
		err = variable.CheckLive(made.to, made.pattern != nil)
	}
	if err != nil {
		return made, fmt.Errorf("to: %w", err)
	}
	return made, nil
}

// varies reports whether a text has variables other than groups.
func varies(text variable.Template) bool {
	found := false
	text.Parts(func(string) {}, func(v variable.Variable) { found = found || v.Kind != variable.Capture })
	return found
}

// Empty reports whether there is no rewrite.
func (l *List) Empty() bool { return len(l.rewrites) == 0 }

// Values returns what the rewrites read of a request, before a handler changes it. It is nil if they read nothing.
func Values(r *http.Request, lists ...*List) *variable.Live {
	for _, list := range lists {
		if list.variables {
			return variable.Snapshot(r, telemetry.RecordFrom(r.Context()).Client)
		}
	}
	return nil
}

// Rewrite returns a value as the first rewrite that matches makes it, and whether there is one.
func (l *List) Rewrite(value string, values *variable.Live) (string, bool) {
	live := variable.Live{}
	if values != nil {
		live = *values
	}
	for i := range l.rewrites {
		if made, matches := l.rewrites[i].apply(l.kind, value, &live); matches {
			return made, true
		}
	}
	return value, false
}

func (w *rewrite) apply(kind Kind, value string, live *variable.Live) (string, bool) {
	if w.pattern != nil {
		if live.Captures = w.pattern.Find(value); live.Captures == nil {
			return value, false
		}
		return text(w.to, live), true
	}
	from := text(w.from, live)
	if kind == Domain {
		bare := strings.TrimPrefix(value, ".")
		if !strings.EqualFold(bare, from) {
			return value, false
		}
		return value[:len(value)-len(bare)] + text(w.to, live), true
	}
	rest, matches := strings.CutPrefix(value, from)
	if !matches {
		return value, false
	}
	return text(w.to, live) + rest, true
}

func text(of variable.Template, live *variable.Live) string {
	if constant, fixed := of.Constant(); fixed {
		return constant
	}
	return string(of.Append(nil, live))
}
