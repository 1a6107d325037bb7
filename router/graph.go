package router

import (
	"iter"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// graph records which object was built from which others, also from ones that do not exist yet.
type graph struct{ nodes map[dynamic.Ref]*graphNode }

// graphNode is an object with the objects that are built from it, and those that it is built from.
type graphNode struct {
	ref          dynamic.Ref
	dependents   nodeSet
	dependencies []*graphNode
}

func newGraph() *graph { return &graph{nodes: map[dynamic.Ref]*graphNode{}} }

// node returns the node of an object, new or known.
func (g *graph) node(ref dynamic.Ref) *graphNode {
	node := g.nodes[ref]
	if node == nil {
		node = &graphNode{ref: ref}
		g.nodes[ref] = node
	}
	return node
}

// depend notes that from is built from on.
func (g *graph) depend(from, on dynamic.Ref) {
	dependent, dependency := g.node(from), g.node(on)
	if dependency.dependents.add(dependent) {
		dependent.dependencies = append(dependent.dependencies, dependency)
	}
}

// forget drops what from is built from; what depends on from stays.
func (g *graph) forget(from dynamic.Ref) {
	node := g.nodes[from]
	if node == nil {
		return
	}
	for _, dependency := range node.dependencies {
		dependency.dependents.remove(node)
		g.prune(dependency)
	}
	node.dependencies = nil
	g.prune(node)
}

// prune drops a node without edges.
func (g *graph) prune(node *graphNode) {
	if len(node.dependencies)+len(node.dependents.few)+len(node.dependents.many) == 0 {
		delete(g.nodes, node.ref)
	}
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
		if node := g.nodes[ref]; node != nil {
			for dependent := range node.dependents.all() {
				queue = append(queue, dependent.ref)
			}
		}
	}
	return reached
}

// maxFew is the size up to which a nodeSet is a slice: most objects have one dependent, and an entry of its own in a
// map takes twenty times the memory.
const maxFew = 8

// nodeSet is a set of nodes: a slice while it is small, then a map.
type nodeSet struct {
	few  []*graphNode
	many map[*graphNode]struct{}
}

// add reports whether the node was not in the set.
func (s *nodeSet) add(node *graphNode) bool {
	if _, known := s.many[node]; known || slices.Contains(s.few, node) {
		return false
	}
	if s.many == nil && len(s.few) < maxFew {
		s.few = append(s.few, node)
		return true
	}
	if s.many == nil {
		s.many = make(map[*graphNode]struct{}, 2*maxFew)
		for _, one := range s.few {
			s.many[one] = struct{}{}
		}
		s.few = nil
	}
	s.many[node] = struct{}{}
	return true
}

func (s *nodeSet) remove(node *graphNode) {
	if delete(s.many, node); len(s.many) == 0 {
		s.many = nil
	}
	if at := slices.Index(s.few, node); at >= 0 {
		s.few = slices.Delete(s.few, at, at+1)
	}
}

func (s *nodeSet) all() iter.Seq[*graphNode] {
	if s.many != nil {
		return maps.Keys(s.many)
	}
	return slices.Values(s.few)
}
