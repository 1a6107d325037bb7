package router

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// listen takes the listeners that serve, and the names of those that have changed.
func (t *tlsObjects) listen(listeners *listeners) {
	t.listened = listeners.changed
	if len(t.listened) > 0 {
		t.listeners = listeners.entryPoints()
	}
}

// names returns the names of the entrypoints and of the listeners that serve.
func (t *tlsObjects) names() []string {
	names := make([]string, 0, len(t.entryPoints)+len(t.listeners))
	for _, entryPoint := range t.entryPoints {
		names = append(names, entryPoint.Name)
	}
	return slices.AppendSeq(names, maps.Keys(t.listeners))
}

// namesListened reports whether a certificate names a listener that has changed.
func (t *tlsObjects) namesListened(from source) bool {
	if len(t.listened) == 0 || from.config.TLS == nil {
		return false
	}
	for _, entry := range from.config.TLS.Certificates {
		for _, name := range entry.EntryPoints {
			if _, listened := slices.BinarySearch(t.listened, name); listened {
				return true
			}
		}
	}
	return false
}

// chooseListened takes the default options of the listeners that have changed.
func (t *tlsObjects) chooseListened(from source) {
	for _, name := range t.listened {
		delete(t.fallbacks, name)
		if _, serves := t.listeners[name]; !serves {
			maps.DeleteFunc(t.bound, func(key boundOptions, _ *certificate.Options) bool { return key.entryPoint == name })
			continue
		}
		if options, err := t.options(from, t.defaultOf(name)); err == nil {
			t.fallbacks[name] = t.on(name, options)
		}
	}
}

// entryPointsOf returns the entrypoints of a certificate that exist and that it may name. It is not ok when it names
// others alone.
func (t *tlsObjects) entryPointsOf(ref dynamic.Ref, entry *dynamic.CertificateEntry) (found []string, ok bool) {
	var wrong string
	code := dynamic.CodeMissingEntryPoint
	for _, name := range entry.EntryPoints {
		switch {
		case foreign(name, ref.Name):
			wrong, code = refuseForeign(name), dynamic.CodeReferenceNotPermitted
		case t.exists(name):
			found = append(found, name)
		default:
			wrong = cmp.Or(wrong, fmt.Sprintf("entrypoint %q does not exist", name))
		}
	}
	switch {
	case wrong == "":
		return found, true
	case len(found) > 0:
		t.report(ref, dynamic.Degraded, code, wrong)
		return found, true
	case code == dynamic.CodeMissingEntryPoint:
		wrong = fmt.Sprintf("none of its entrypoints exists: %q", entry.EntryPoints)
	}
	t.report(ref, dynamic.Quarantined, code, wrong)
	return nil, false
}
