package router

import (
	"cmp"
	"iter"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// EnvironmentService is an environment service of a table.
type EnvironmentService struct{ node *serviceNode }

// EnvironmentStatus is the present state of an environment service.
type EnvironmentStatus struct {
	// Name is the qualified name.
	Name string `json:"name"`
	// Header is the name of the header with the tag, and Splitter the character between the levels of a tag.
	Header   string `json:"header"`
	Splitter string `json:"splitter"`
	// Default is the tag of requests without a subset of their own. Fallback (default, any, reject), Exists (pods, ready)
	// and Strict are the options of dynamic.Environment.
	Default  string `json:"default,omitempty"`
	Fallback string `json:"fallback"`
	Exists   string `json:"exists"`
	Strict   bool   `json:"strict"`
	// Subsets are in the order of their declaration, and never nil.
	Subsets []SubsetStatus `json:"subsets"`
	// Any is the service of all endpoints; nil if none is declared.
	Any *SubsetStatus `json:"any,omitempty"`
	// Answers say what answers the requested tags, in the order of the request.
	Answers []EnvironmentAnswer `json:"answers,omitempty"`
}

// SubsetStatus is the present state of a subset of an environment service.
type SubsetStatus struct {
	// Tag is empty for the service of all endpoints.
	Tag string `json:"tag,omitempty"`
	// Service is the qualified name of the service that answers.
	Service string `json:"service"`
	// Selectable reports whether the subset counts in the choice now (the option exists).
	Selectable bool `json:"selectable"`
	// Up reports whether an endpoint may answer.
	Up bool `json:"up"`
	// Serving is the number of endpoints that get requests, Endpoints that of all known ones.
	Serving   int `json:"serving"`
	Endpoints int `json:"endpoints"`
}

// EnvironmentAnswer says which subset of an environment service answers a tag now.
type EnvironmentAnswer struct {
	// Tag is the requested tag; empty for requests without a tag.
	Tag string `json:"tag"`
	// Reason is exact, ancestor, default, any or none. With none, everything below is empty.
	Reason environment.Reason `json:"reason"`
	// Subset is the tag of the subset; empty for the service of all endpoints.
	Subset string `json:"subset,omitempty"`
	// Service, Up, Serving and Endpoints are those of SubsetStatus.
	Service   string `json:"service,omitempty"`
	Up        bool   `json:"up"`
	Serving   int    `json:"serving"`
	Endpoints int    `json:"endpoints"`
}

// Environments returns the environment services in use, by name, whether a router leads to them or not.
func (t *Table) Environments() []EnvironmentService {
	services := make([]EnvironmentService, len(t.environments))
	for i, node := range t.environments {
		services[i].node = node
	}
	return services
}

// Name returns the qualified name of the service.
func (s EnvironmentService) Name() string { return s.node.name }

// Tags yields the tags of the subsets, in the order of their declaration.
func (s EnvironmentService) Tags() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, subset := range s.node.environments.declared.Subsets {
			if !yield(subset.Tag) {
				return
			}
		}
	}
}

// Status returns the present state of the service, and what answers the given tags.
func (s EnvironmentService) Status(tags []string) EnvironmentStatus {
	declared := s.node.environments.declared
	status := EnvironmentStatus{
		Name: s.node.name, Header: s.node.environments.Header(), Splitter: declared.Splitter, Default: declared.Default,
		Fallback: declared.Fallback, Exists: declared.Exists, Strict: declared.Strict,
		Subsets: make([]SubsetStatus, len(declared.Subsets)),
	}
	for i := range status.Subsets {
		status.Subsets[i] = s.node.children[i].subset()
		status.Subsets[i].Selectable = s.node.environments.Exists(i)
	}
	if declared.Service != "" {
		anyOf := s.node.children[len(declared.Subsets)].subset()
		anyOf.Selectable = true
		status.Any = &anyOf
	}
	for _, tag := range tags {
		status.Answers = append(status.Answers, s.answer(&status, tag))
	}
	return status
}

// answer returns what the handler of the service chooses for a request with this tag.
func (s EnvironmentService) answer(status *EnvironmentStatus, tag string) EnvironmentAnswer {
	header := http.Header{}
	if tag != "" {
		header[s.node.environments.Header()] = []string{tag}
	}
	_, choice := s.node.environments.Choose(header)
	answer := EnvironmentAnswer{Tag: tag, Reason: choice.Reason}
	chosen := status.Any
	switch {
	case choice.Subset != environment.NoSubset:
		chosen = &status.Subsets[choice.Subset]
	case choice.Reason == environment.None:
		return answer
	}
	answer.Subset, answer.Service, answer.Up = chosen.Tag, chosen.Service, chosen.Up
	answer.Serving, answer.Endpoints = chosen.Serving, chosen.Endpoints
	return answer
}

// subset returns the state of a child of an environment service.
func (b *branch) subset() SubsetStatus {
	status := SubsetStatus{Tag: b.tag, Service: b.node.name, Up: b.node.up == nil || b.node.up()}
	for pool := range b.node.pools(map[*loadbalancer.Pool]struct{}{}) {
		snapshot := pool.Snapshot()
		status.Serving += snapshot.Serving()
		status.Endpoints += snapshot.Len()
	}
	return status
}

// pools adds the pools of a service, and of those below it except mirrors, to a set, and returns it.
func (n *serviceNode) pools(known map[*loadbalancer.Pool]struct{}) map[*loadbalancer.Pool]struct{} {
	if n.pool != nil {
		known[n.pool] = struct{}{}
	}
	for i := range n.children {
		if n.children[i].role != roleMirror {
			n.children[i].node.pools(known)
		}
	}
	return known
}

// listEnvironments returns the table with the environment services that a change reached exchanged, which is the same
// table where it reached none.
func (c *Compiler) listEnvironments(table *Table, dirty map[dynamic.Ref]struct{}) *Table {
	var added []*serviceNode
	for ref := range dirty {
		if ref.Kind != dynamic.KindService {
			continue
		}
		if node := c.services[ref.Name]; node != nil && node.environments != nil && node.err == nil {
			added = append(added, node)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(table.environments), func(node *serviceNode) bool {
		_, changed := dirty[dynamic.Ref{Kind: dynamic.KindService, Name: node.name}]
		return changed
	})
	if len(added) == 0 && len(kept) == len(table.environments) {
		return table
	}
	next := *table
	next.environments = append(kept, added...)
	slices.SortFunc(next.environments, func(a, b *serviceNode) int { return cmp.Compare(a.name, b.name) })
	return &next
}
