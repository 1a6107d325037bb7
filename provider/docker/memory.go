package docker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// memory caches translations, so that unchanged objects keep their pointers.
type memory struct {
	decoder dynamic.LabelDecoder
	// labels caches parsed labels, shared by containers with the same ones.
	labels map[string]*dynamic.Labels
	// declared is the declaration of each container, by id.
	declared map[string]*declaration
	// objects are those of the last state.
	objects map[dynamic.Ref]any
}

func newMemory() *memory {
	return &memory{
		labels: map[string]*dynamic.Labels{}, declared: map[string]*declaration{}, objects: map[dynamic.Ref]any{},
	}
}

// read returns the parsed labels of a container.
func (m *memory) read(labels map[string]string) *dynamic.Labels {
	own := dynamic.OwnLabels(labels)
	var identity []byte
	for _, name := range slices.Sorted(maps.Keys(own)) {
		identity = append(strconv.AppendQuote(append(strconv.AppendQuote(identity, name), '='), own[name]), ';')
	}
	known := m.labels[string(identity)]
	if known == nil {
		known = m.decoder.Decode(own)
		m.labels[string(identity)] = known
	}
	return known
}

// declare returns the declaration of a container, which depends only on its labels and name.
func (m *memory) declare(c *container, rule *gotemplate.Template, own bool) *declaration {
	known := m.declared[c.id]
	if known == nil || known.name != c.name || known.labels != c.declared {
		known = newDeclaration(c, rule, own)
		m.declared[c.id] = known
	}
	return known
}

// forget drops the entries of removed containers.
func (m *memory) forget(containers map[string]*container) {
	for id := range m.declared {
		if containers[id] == nil {
			delete(m.declared, id)
		}
	}
	inUse := make(map[*dynamic.Labels]bool, len(containers))
	for _, c := range containers {
		inUse[c.declared] = true
	}
	for identity, labels := range m.labels {
		if !inUse[labels] {
			delete(m.labels, identity)
		}
	}
}

// keep returns the object of the last state if it is equal to the new one.
func (m *memory) keep(ref dynamic.Ref, object any) any {
	if before, ok := m.objects[ref]; ok && (before == object || dynamic.Equal(before, object)) {
		return before
	}
	return object
}
