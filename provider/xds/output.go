package xds

import (
	"reflect"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// output is the configuration that is sent.
type output struct {
	origin    dynamic.Origin
	listeners map[string]built // with the last complete objects
	handled   map[string]bool  // the listeners that were looked at last

	builder  *dynamic.Builder
	edit     *immutable.Edit // of origins
	origins  immutable.Map[dynamic.Ref, dynamic.Origin]
	objects  map[dynamic.Ref]any // in builder
	verdicts []dynamic.Verdict
	changed  bool
}

// built is what one listener leads to.
type built struct {
	objects map[dynamic.Ref]any
	// keys are those of the endpoint sets that the objects refer to.
	keys []string
}

func newOutput(server string) output {
	return output{
		origin: dynamic.Origin{Object: "xDS server " + server}, listeners: map[string]built{}, handled: map[string]bool{},
		builder: dynamic.NewBuilder(&dynamic.Configuration{}), edit: new(immutable.Edit), objects: map[dynamic.Ref]any{},
	}
}

// lacks reports whether the listeners are others than those that were looked at last.
func (o *output) lacks(listeners []string) bool {
	return len(listeners) != len(o.handled) ||
		slices.ContainsFunc(listeners, func(one string) bool { return !o.handled[one] })
}

// assemble makes the objects of all listeners those of the configuration. What is equal keeps its pointer.
func (o *output) assemble() {
	objects := map[dynamic.Ref]any{}
	for _, one := range o.listeners {
		for ref, object := range one.objects {
			objects[ref] = object
		}
	}
	for ref, object := range objects {
		if before, known := o.objects[ref]; known && reflect.DeepEqual(before, object) {
			continue
		}
		o.builder.Put(ref, object)
		o.origins.Set(o.edit, ref, o.origin)
		o.objects[ref], o.changed = object, true
	}
	for ref := range o.objects {
		if _, known := objects[ref]; !known {
			o.builder.Delete(ref)
			o.origins.Delete(o.edit, ref)
			delete(o.objects, ref)
			o.changed = true
		}
	}
}

// needs returns the keys of all endpoint sets that the configuration refers to.
func (o *output) needs() map[string]bool {
	keys := map[string]bool{}
	for _, one := range o.listeners {
		for _, key := range one.keys {
			keys[key] = true
		}
	}
	return keys
}

// configuration returns the configuration with verdicts, and whether it has changed since the last call.
func (o *output) configuration(verdicts []dynamic.Verdict) (*dynamic.Configuration, bool) {
	changed := o.changed || !slices.Equal(verdicts, o.verdicts)
	o.changed, o.verdicts, o.edit = false, verdicts, new(immutable.Edit)
	next := o.builder.Configuration()
	next.Origins, next.Verdicts = o.origins, verdicts
	return next, changed
}
