package ingress

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// What annotations begin with; everything behind it is an option: one of Traefik's, or one of ours.
const (
	prefix       = "traefik.ingress.kubernetes.io/"
	nativePrefix = "sluice.dev/"
)

// The sections of annotations: those of an Ingress and those of a Service.
const (
	sectionRouter  = "router"
	sectionService = "service"
)

// branch is an option of annotations with the options below it (router.tls and router.tls.options).
type branch struct {
	key      string
	value    string
	given    bool
	children map[string]*branch
}

// place is the prefix and section of options.
type place struct{ prefix, section string }

// collect returns the options of one place as a node, and the annotations with its prefix that belong to no such
// section.
func (p place) collect(annotations map[string]string) (node *document.Node, others []string) {
	root := &branch{}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		option, ours := strings.CutPrefix(key, p.prefix)
		if !ours {
			continue
		}
		head, path, nested := strings.Cut(option, ".")
		if !nested || path == "" || !strings.EqualFold(head, p.section) {
			others = append(others, key)
			continue
		}
		root.grow(path, annotations[key])
	}
	if len(root.children) == 0 {
		return nil, others
	}
	return root.node(""), others
}

// grow puts a value at a path of keys, whose case does not count.
func (b *branch) grow(path, value string) {
	for key := range strings.SplitSeq(path, ".") {
		folded := strings.ToLower(key)
		child := b.children[folded]
		if child == nil {
			if b.children == nil {
				b.children = map[string]*branch{}
			}
			child = &branch{key: key}
			b.children[folded] = child
		}
		b = child
	}
	b.value, b.given = value, true
}

// node returns the branch at a path as the node that a file would have in its place.
func (b *branch) node(path string) *document.Node {
	if b.given && (len(b.children) == 0 || !switchedOn(b.value)) {
		return b.scalar(path)
	}
	if items := b.items(path); items != nil {
		return &document.Node{Kind: document.List, Items: items}
	}
	out := &document.Node{Kind: document.Map}
	for _, folded := range slices.Sorted(maps.Keys(b.children)) {
		child := b.children[folded]
		out.Fields = append(out.Fields, document.Field{Key: child.key, Value: child.node(join(path, folded))})
	}
	return out
}

// switchedOn reports whether a value leaves the options below it in force.
func switchedOn(value string) bool { return value == "" || strings.EqualFold(value, "true") }

// scalar is a value. An option that is enabled by its presence needs none.
func (b *branch) scalar(path string) *document.Node {
	value := b.value
	if value == "" && (path == "tls" || path == "sticky" || path == "sticky.cookie") {
		value = "true"
	}
	return &document.Node{Kind: document.Scalar, Value: value}
}

// items returns the branches of a list, whose keys are numbers, in order; nil when it is no list.
func (b *branch) items(path string) []*document.Node {
	places := map[int]*branch{}
	for key, child := range b.children {
		place, err := strconv.Atoi(key)
		if err != nil || place < 0 || places[place] != nil {
			return nil
		}
		places[place] = child
	}
	var items []*document.Node
	for _, place := range slices.SortedFunc(maps.Keys(places), cmp.Compare[int]) {
		items = append(items, places[place].node(path))
	}
	return items
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// annotation names the annotation at the path of a problem: domains[0].main is domains.0.main there.
func (p place) annotation(path string) string {
	return "annotation " + p.prefix + join(p.section, strings.ToLower(strings.NewReplacer("[", ".", "]",
		"").Replace(path)))
}

// unknown reports whether a problem is an unknown option.
func unknown(problem document.Problem) bool {
	return strings.HasPrefix(problem.Reason, document.Unknown("", nil))
}
