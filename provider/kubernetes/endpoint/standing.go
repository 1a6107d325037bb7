package endpoint

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// standing is how the provider stands.
type standing struct {
	state  dynamic.ProviderState
	reason string
	// begun says that everything that can be read has been read, so that sets are true.
	begun bool
}

// standing returns how the provider stands now, if it has told how it stood until now. Services and EndpointSlices are
// what it cannot do without: when they may not be read at the start, it is forbidden. Once everything has been read,
// that is only a reason: what has been read stays good.
func (p *Provider) standing(told standing) standing {
	services, slices := p.services.Status(), p.slices.Status()
	now := standing{state: told.state, begun: told.begun, reason: reasons(services, slices)}
	pending := services.State == dynamic.StatePending || slices.State == dynamic.StatePending
	if pending && !p.book.trusted() {
		return now
	}
	if !told.begun && p.wanting() {
		p.watchLegacy() // Nothing is new at the start, so there is no wait.
	}
	if legacy := p.watchedLegacy(); legacy != nil {
		status := legacy.Status()
		now.reason = reasons(services, slices, status)
		if status.State == dynamic.StatePending && !told.begun {
			return now
		}
	}
	now.begun, now.state = true, dynamic.StateSynced
	if p.book.trusted() {
		return now
	}
	if services.State == dynamic.StateForbidden || slices.State == dynamic.StateForbidden {
		now.state = dynamic.StateForbidden
		return now
	}
	p.book.trust()
	return now
}

// reasons joins what keeps watches from what they should read.
func reasons(statuses ...client.Status) string {
	var all []string
	for _, status := range statuses {
		if status.Reason != "" {
			all = append(all, status.Reason)
		}
	}
	return strings.Join(all, "; ")
}

// wanting reports whether some Service has no EndpointSlices, and legacy Endpoints are not watched yet.
func (p *Provider) wanting() bool { return p.watchedLegacy() == nil && p.book.bareServices() }

func (p *Provider) watchedLegacy() *client.Watched[*client.Endpoints] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.legacy
}

// watchLegacy begins to watch legacy Endpoints, for good. Hardly any cluster comes to this: the control plane mirrors
// Endpoints into slices, unless a label on them forbids it.
func (p *Provider) watchLegacy() {
	p.mu.Lock()
	p.legacy = client.Watch(p.cluster, client.LegacyEndpoints(), p.scope)
	p.mu.Unlock()
	p.legacy.Notify(p.book.endpoints)
}
