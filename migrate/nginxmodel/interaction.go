package nginxmodel

import (
	"slices"
)

// Interaction is where an Ingress changes what others declare.
type Interaction struct {
	// Host is empty for what is about a Service.
	Host string `json:"host,omitempty"`
	// Cause and Affected are Ingresses, as NAMESPACE/NAME.
	Cause    string   `json:"cause"`
	Affected []string `json:"affected"`
	Effect   string   `json:"effect"`
}

// Interactions returns where Ingresses change what others declare, by host; those about Services are last.
func (m *Model) Interactions() []Interaction {
	var all []Interaction
	for _, one := range m.servers {
		all = append(all, one.interactions()...)
	}
	return append(all, m.shared()...)
}

// owners are the Ingresses with paths of the host that are not the given one, by the order of their paths.
func (s *server) owners(but *ingress, test func(*place) bool) []string {
	var keys []string
	for _, at := range s.declared {
		if at.owner == nil || at.owner == but || at.implied || test != nil && !test(at) {
			continue
		}
		if key := at.key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (s *server) interactions() (all []Interaction) {
	add := func(cause *ingress, effect string, test func(*place) bool) {
		if affected := s.owners(cause, test); cause != nil && len(affected) > 0 {
			all = append(all, Interaction{s.name, cause.Key(), affected, effect})
		}
	}
	for _, at := range s.places {
		if at.regex() && at.owner != nil {
			add(at.owner, "its use-regex or rewrite-target turns all paths of the host into regular expressions: "+
				"they begin like the request's path, in any case of letters, and Exact is no longer exact",
				func(other *place) bool { return !other.regex() })
			break
		}
	}
	for _, at := range s.declared {
		if at.implied && at.owner != nil {
			add(at.owner, "it is the oldest Ingress of the host, so that its annotations apply to all paths that no "+
				"Ingress declares", nil)
		}
	}
	for _, at := range s.declared {
		if at.owner != nil && at.options.Rewrite.AppRoot != "" {
			add(at.owner, "its app-root answers / of the host", func(other *place) bool { return other.path == "/" })
			break
		}
	}
	if s.clientTLS != nil {
		add(s.clientOwner, "its certificates of clients are demanded for the whole host", nil)
	}
	add(s.secureOwner(), "its TLS section turns on ssl-redirect for the whole host", func(other *place) bool {
		return other.options.Rewrite.SSLRedirect && len(other.owner.Spec.TLS) == 0
	})
	return all
}

// secureOwner returns the first Ingress with a TLS section; nil for none.
func (s *server) secureOwner() *ingress {
	var first *ingress
	for _, at := range s.declared {
		if at.owner == nil || len(at.owner.Spec.TLS) == 0 {
			continue
		}
		if first == nil || at.owner.CreationTimestamp.Before(&first.CreationTimestamp) {
			first = at.owner
		}
	}
	return first
}

// shared returns the interactions of Ingresses that lead to one Service.
func (m *Model) shared() (all []Interaction) {
	var seen []*backend
	for _, one := range m.servers {
		for _, at := range one.declared {
			to := at.backend
			if to == nil || len(to.mains) < 1 || slices.Contains(seen, to) {
				continue
			}
			seen = append(seen, to)
			all = append(all, to.interactions()...)
		}
	}
	return all
}

func (b *backend) interactions() (all []Interaction) {
	if others := b.others(b.sticky); b.sticky != nil && len(others) > 0 {
		all = append(all, Interaction{
			Cause: b.sticky.Key(), Affected: others,
			Effect: "its affinity is that of the Service " + b.name() + ", to which others lead too",
		})
	}
	if b.canary != nil && len(b.canary.canaries) > 0 && len(b.mains) > 1 {
		all = append(all, Interaction{
			Cause: b.canary.canaries[0].Key(), Affected: b.others(nil),
			Effect: "the canary belongs to the Service " + b.name() + ": all Ingresses that lead there share it",
		})
	}
	return all
}

// others returns the Ingresses that lead to the Service, but for one.
func (b *backend) others(but *ingress) (keys []string) {
	seen := map[*ingress]bool{but: true}
	for _, one := range b.mains {
		if !seen[one] {
			seen[one] = true
			keys = append(keys, one.Key())
		}
	}
	return keys
}
