package pipeline

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// origins finds where objects were declared, in the configurations that were merged. Only the few objects with a
// verdict are ever looked up, so nothing is copied.
type origins struct {
	configurations map[string]*dynamic.Configuration
	// elected names the providers of the objects that belong to no provider.
	elected map[dynamic.Ref]string
}

// of returns where the object of a qualified name was declared; it is not ok when no provider says so.
func (o origins) of(ref dynamic.Ref) (origin dynamic.Origin, ok bool) {
	own, provider := ref, o.elected[ref]
	if provider == "" {
		at := strings.LastIndexByte(ref.Name, '@')
		if at < 0 {
			return dynamic.Origin{}, false
		}
		own.Name, provider = ref.Name[:at], ref.Name[at+1:]
	}
	if configuration := o.configurations[provider]; configuration != nil {
		origin, ok = configuration.Origins.Find(own)
	}
	return origin, ok
}
