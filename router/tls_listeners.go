package router

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/certificate"
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
