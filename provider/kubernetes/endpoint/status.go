package endpoint

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// status is the state of the provider, as its messages give it.
type status struct {
	state  dynamic.ProviderState
	reason string
	// begun says that everything that can be read has been read, so that sets are true.
	begun bool
}

// status returns the status of the provider, which follows the one that was sent. When Services or EndpointSlices may
// not be read at the start, it is forbidden. Once everything has been read, that is only a reason: what has been read
// stays good.
func (p *Provider) status(sent status) status {
	services, parts := p.services.Status(), p.slices.Status()
	now := status{state: sent.state, begun: sent.begun, reason: reasons(services, parts)}
	pending := services.State == dynamic.StatePending || parts.State == dynamic.StatePending
	if pending && !p.cache.trusted() {
		return now
	}
	if !sent.begun && p.wanting() {
		p.watchLegacy() // Nothing is new at the start, so there is no wait.
	}
	if legacy := p.watchedLegacy(); legacy != nil {
		endpoints := legacy.Status()
		now.reason = reasons(services, parts, endpoints)
		if endpoints.State == dynamic.StatePending && !sent.begun {
			return now
		}
	}
	policies := p.policies.Status()
	if p.patient.Load() && (policies.State == dynamic.StatePending || p.awaitsPods()) {
		return now
	}
	if policies.State == dynamic.StateForbidden {
		now.reason = strings.TrimPrefix(now.reason+"; "+policies.Reason, "; ")
	}
	now.begun, now.state = true, dynamic.StateSynced
	if p.cache.trusted() {
		return now
	}
	if services.State == dynamic.StateForbidden || parts.State == dynamic.StateForbidden {
		now.state = dynamic.StateForbidden
		return now
	}
	p.cache.trust()
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
func (p *Provider) wanting() bool { return p.watchedLegacy() == nil && p.cache.bareServices() }

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
	p.legacy.Notify(p.cache.endpoints)
}
