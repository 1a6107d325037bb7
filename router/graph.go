package router

import "github.com/sluiceproxy/sluice/dynamic"

// graph remembers which object was built from which others, also from ones that do not exist yet.
type graph struct {
	dependents   map[dynamic.Ref]map[dynamic.Ref]struct{}
	dependencies map[dynamic.Ref][]dynamic.Ref
}

func newGraph() *graph {
	return &graph{
		dependents:   map[dynamic.Ref]map[dynamic.Ref]struct{}{},
		dependencies: map[dynamic.Ref][]dynamic.Ref{},
	}
}

// depend notes that from is built from on.
func (g *graph) depend(from, on dynamic.Ref) {
	set := g.dependents[on]
	if set == nil {
		set = map[dynamic.Ref]struct{}{}
		g.dependents[on] = set
	}
	if _, known := set[from]; known {
		return
	}
	set[from] = struct{}{}
	g.dependencies[from] = append(g.dependencies[from], on)
}

// forget drops what from is built from; who depends on from stays.
func (g *graph) forget(from dynamic.Ref) {
	for _, on := range g.dependencies[from] {
		delete(g.dependents[on], from)
		if len(g.dependents[on]) == 0 {
			delete(g.dependents, on)
		}
	}
	delete(g.dependencies, from)
}

// affected returns the changed objects and everything that is built from them, directly or not.
func (g *graph) affected(changed []dynamic.Ref) map[dynamic.Ref]struct{} {
	reached := make(map[dynamic.Ref]struct{}, len(changed))
	queue := append([]dynamic.Ref(nil), changed...)
	for len(queue) > 0 {
		ref := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, known := reached[ref]; known {
			continue
		}
		reached[ref] = struct{}{}
		for dependent := range g.dependents[ref] {
			queue = append(queue, dependent)
		}
	}
	return reached
}
