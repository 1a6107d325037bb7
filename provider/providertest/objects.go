package providertest

import (
	"maps"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Objects returns the pointers of all objects of a configuration by their references.
func Objects(c *dynamic.Configuration) map[dynamic.Ref]any {
	out := maps.Collect(c.Objects())
	if c.TLS != nil {
		for place, entry := range c.TLS.Certificates {
			out[entry.Ref(place)] = entry
		}
	}
	return out
}
