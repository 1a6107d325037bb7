package service

import (
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/telemetry"
)

// EnvironmentOptions are the options of an environment service.
type EnvironmentOptions struct {
	// Name is the service's qualified name.
	Name string
	// Selector selects the child of a request.
	Selector *environment.Selector
	// Subsets are the children in the order of the selector's subsets. Their names are the tags.
	Subsets []Child
	// Any is the service with the endpoints of all environments; its handler may be nil without the fallback any. It also
	// answers while no subset is present.
	Any Child
	// Ready counts only children that are up (exists: ready); without it, all that have endpoints.
	Ready bool
}

// Environment hands each request to the subset of its environment, by a tag in its header.
type Environment struct{ options EnvironmentOptions }

// NewEnvironment returns the handler of an environment service.
func NewEnvironment(options EnvironmentOptions) *Environment { return &Environment{options: options} }

// Up reports whether what answers requests without a tag is up, or any environment if nothing does.
func (e *Environment) Up() bool {
	switch choice := e.choose(""); {
	case choice.Subset != environment.NoSubset:
		return e.options.Subsets[choice.Subset].up()
	case choice.Reason == environment.Any:
		return e.options.Any.up()
	}
	return slices.ContainsFunc(e.options.Subsets, func(child Child) bool { return child.up() })
}

// choose returns what answers a tag. If no subset is present any more, the service is not divided, and all endpoints
// answer: its source has changed already, and its definition is about to.
func (e *Environment) choose(tag string) environment.Choice {
	choice := e.options.Selector.Select(tag, e)
	if choice.Reason == environment.None && e.options.Any.Handler != nil && !e.divided() {
		return environment.Choice{Subset: environment.NoSubset, Reason: environment.Any}
	}
	return choice
}

// divided reports whether a subset is present.
func (e *Environment) divided() bool {
	for i := range e.options.Subsets {
		if present := e.options.Subsets[i].Present; present == nil || present() {
			return true
		}
	}
	return false
}

// Exists reports whether the subset of that index counts for the selector.
func (e *Environment) Exists(subset int) bool {
	child := &e.options.Subsets[subset]
	if e.options.Ready {
		return child.up()
	}
	return child.Present == nil || child.Present()
}

// Header returns the name of the header with the tag.
func (e *Environment) Header() string { return e.options.Selector.Header() }

// Choose returns the tag in a request's header, and what answers it.
func (e *Environment) Choose(header http.Header) (environment.Tag, environment.Choice) {
	tag := e.options.Selector.Tag(header)
	return tag, e.choose(tag.Value)
}

// ServeHTTP hands the request on. It answers 503 when no subset may answer its tag. A tag from an alias is added to the
// request, so that the endpoint gets it in the header too.
func (e *Environment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tag, choice := e.Choose(r.Header)
	record := telemetry.RecordFrom(r.Context())
	record.EnvironmentReason = string(choice.Reason)
	if tag.Aliased {
		r.Header[e.options.Selector.Header()] = []string{tag.Value}
	}
	switch {
	case choice.Subset != environment.NoSubset:
		child := &e.options.Subsets[choice.Subset]
		record.Environment = child.Name
		child.Handler.ServeHTTP(w, r)
	case choice.Reason == environment.Any:
		record.Environment = ""
		e.options.Any.Handler.ServeHTTP(w, r)
	default:
		record.Environment = ""
		refuse(w, r, e.options.Name, "no subset may answer the environment of the request")
		record.Code = telemetry.CodeNoEnvironment
	}
}
