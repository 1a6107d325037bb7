package router

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// mostCompared is how many names of objects are compared with missing ones for each compilation. It bounds the time to
// some tens of milliseconds, however many references are missing.
const mostCompared = 100_000

// suggest adds to the verdicts on missing references which existing object may be meant. The faults do not contain it,
// since other objects come and go without a change of the fault.
func (c *Compiler) suggest(found map[dynamic.Ref]dynamic.Verdict) {
	var missing []dynamic.Ref
	for ref, verdict := range found {
		if verdict.Missing && verdict.Cause.Name != "" && !c.source.has(verdict.Cause) {
			missing = append(missing, ref)
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.SortFunc(missing, func(a, b dynamic.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	s := suggestions{source: c.source, internal: c.options.Internal, known: map[dynamic.Ref]string{}, room: mostCompared}
	for _, ref := range missing {
		verdict := found[ref]
		if near := s.near(verdict.Cause); near != "" {
			verdict.Reason += fmt.Sprintf(", did you mean %q?", near)
			found[ref] = verdict
		}
	}
}

// suggestions finds existing objects by names that do not exist.
type suggestions struct {
	source   source
	internal map[string]http.Handler
	// names are those of a kind, sorted, and known the results.
	names map[dynamic.Kind][]string
	known map[dynamic.Ref]string
	// room is how many names may still be compared.
	room int
}

// near returns the name of the object that is meant: of another provider, or spelled in a similar way; or "".
func (s *suggestions) near(absent dynamic.Ref) string {
	near, known := s.known[absent]
	if !known {
		near = s.search(absent)
		s.known[absent] = near
	}
	return near
}

func (s *suggestions) search(absent dynamic.Ref) string {
	names := s.of(absent.Kind)
	s.room -= len(names)
	if s.room < 0 {
		return ""
	}
	provider := providerOf(absent.Name)
	base := strings.TrimSuffix(absent.Name, "@"+provider)
	var all, own []string
	for _, name := range names {
		candidate, _, _ := strings.Cut(name, "@")
		switch {
		case strings.EqualFold(candidate, base):
			return name
		case providerOf(name) == provider:
			own = append(own, candidate)
		}
		all = append(all, candidate)
	}
	if meant, ok := document.Nearest(base, own); ok && similar(base, meant) {
		return Qualify(meant, provider)
	}
	if meant, ok := document.Nearest(base, all); ok && similar(base, meant) {
		return names[slices.Index(all, meant)]
	}
	return ""
}

// similar compares two names without the words that they begin with alike: a namespace in common says nothing.
func similar(absent, candidate string) bool {
	start := 0
	for i := 0; i < min(len(absent), len(candidate)) && absent[i] == candidate[i]; i++ {
		if absent[i] == '-' {
			start = i + 1
		}
	}
	_, ok := document.Nearest(absent[start:], []string{candidate[start:]})
	return ok
}

// of lists the names of the objects of one kind that references may lead to.
func (s *suggestions) of(kind dynamic.Kind) []string {
	if names, known := s.names[kind]; known {
		return names
	}
	if s.names == nil {
		s.names = map[dynamic.Kind][]string{}
	}
	var names []string
	for ref := range s.source.config.Objects() {
		if ref.Kind == kind {
			names = append(names, ref.Name)
		}
	}
	if kind == dynamic.KindService {
		names = slices.AppendSeq(names, maps.Keys(s.internal))
	}
	slices.Sort(names)
	s.names[kind] = names
	return names
}

// noEntryPoint returns the fault of a router all of whose entrypoints are missing.
func (c *Compiler) noEntryPoint(reasons []string) error {
	reason := strings.Join(reasons, "; ")
	if !strings.Contains(reason, "did you mean") && !strings.Contains(reason, "listener") {
		var existing []string
		for _, entrypoint := range c.options.EntryPoints {
			existing = append(existing, entrypoint.Name)
		}
		reason += "; configured are " + strings.Join(existing, ", ")
	}
	return errors.New(reason)
}
