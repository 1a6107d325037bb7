package dynamic

import (
	"fmt"
	"slices"

	"github.com/sluiceproxy/sluice/document"
)

// again keeps another declaration of TLS options under a name of its own, quarantined: an entrypoint of which they are
// meant to be the default ones must not fall back to weaker ones.
func again[T any](d *decoding, out *Objects[T], ref Ref, entry *document.Field) {
	spare := Ref{Kind: ref.Kind, Name: fmt.Sprintf("%s (line %d)", ref.Name, entry.Line)}.Free(func(ref Ref) bool {
		_, taken := out.Find(ref.Name)
		return taken
	})
	out.Set(&d.edit, spare.Name, object[T](d, spare, entry.Line, entry.Value))
	d.quarantine(spare, entry.Line, CodeConflictingName, fmt.Sprintf(
		"%q is declared already, on line %d; this one is not used", ref.Name, d.out.Origins.Get(ref).Line))
}

// Free returns a reference that is not taken: the reference itself, or one with a number behind its name.
func (r Ref) Free(taken func(Ref) bool) Ref {
	free := r
	for number := 2; taken(free); number++ {
		free.Name = fmt.Sprintf("%s (%d)", r.Name, number)
	}
	return free
}

// claimed gives TLS options with mistakes every entrypoint that they may have been meant for: the names in the value of
// entryPoints, whatever its shape, also where the key is misspelt or at another place. Options that are no map may
// have been meant for all that they mention.
func claimed(object any, node *document.Node) {
	options, ok := object.(*TLSOptions)
	if !ok {
		return
	}
	names := mentioned(nil, node, node.Kind != document.Map)
	slices.Sort(names)
	options.EntryPoints = slices.Compact(names)
}

// mentioned appends the scalars and keys below keys that are entryPoints or similar, or all of them.
func mentioned(names []string, node *document.Node, all bool) []string {
	if node.Kind == document.Scalar && all {
		return append(names, document.SplitList(node.Value)...)
	}
	for _, item := range node.Items {
		names = mentioned(names, item, all)
	}
	for i := range node.Fields {
		field := &node.Fields[i]
		if all {
			names = append(names, field.Key)
		}
		_, similar := document.Nearest(field.Key, []string{"entryPoints"})
		names = mentioned(names, field.Value, all || similar)
	}
	return names
}

// unusedSection is a section of TLS options that is not used, with the entrypoints that it names.
type unusedSection struct {
	path        string
	line        int
	entryPoints []string
}

// ignore notes which entrypoints a section names that is not used, if it is one of TLS options or similar to it.
func (d *decoding) ignore(path string, line int, section *document.Node) {
	path, similar := document.Nearest(path, []string{"tls", "tls.options"})
	if names := mentioned(nil, section, false); similar && len(names) > 0 {
		slices.Sort(names)
		d.unused = append(d.unused, unusedSection{path, line, slices.Compact(names)})
	}
}

// keepUnused adds TLS options, quarantined, for the sections that are not used.
func (d *decoding) keepUnused() {
	for _, one := range d.unused {
		if d.out.TLS == nil {
			d.out.TLS = &TLSConfiguration{}
		}
		options := &d.out.TLS.Options
		ref := Ref{Kind: KindTLSOptions, Name: fmt.Sprintf("%s (line %d)", one.path, one.line)}.Free(func(ref Ref) bool {
			_, taken := options.Find(ref.Name)
			return taken
		})
		d.out.Origins.Set(&d.edit, ref, d.origin(one.line))
		options.Set(&d.edit, ref.Name, &TLSOptions{EntryPoints: one.entryPoints})
		d.quarantine(ref, one.line, CodeInvalidSource,
			"the section is not used, and the entrypoints that it names are closed")
	}
}
