package providertest

import (
	"maps"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/assembly"
)

// Objects returns the pointers of all objects of a configuration by their references.
func Objects(c *dynamic.Configuration) map[dynamic.Ref]any {
	out := maps.Collect(assembly.Objects(c))
	if c.TLS != nil {
		for place, entry := range c.TLS.Certificates {
			out[entry.Ref(place)] = entry
		}
	}
	return out
}
