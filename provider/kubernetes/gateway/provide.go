package gateway

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Provide implements provider.Provider, as [translation.Sender.Run].
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	sender := translation.Sender{
		Provider: Name, Interval: time.Duration(p.options.ThrottleDuration), Adaptive: true,
		Touched: p.memory.Touched(), Status: p.statusChanged, Pending: p.pending, Next: p.next,
	}
	return sender.Run(ctx, messages)
}

// pending reports whether any watch is pending, and why.
func (p *Provider) pending() (pending bool, reason string) {
	state, reason := p.state()
	return state == dynamic.StatePending, reason
}

// next translates what has changed and returns the state to send. It has no configuration while what is required may
// not be read and never could: routes could lead to backends without the TLS that policies demand.
func (p *Provider) next() (next dynamic.Message, changed bool) {
	configuration, changed := p.update()
	state, reason := p.state()
	switch {
	case state == dynamic.StatePending && p.trusted:
		// A watch that starts again holds what it had.
		state, reason = dynamic.StateSynced, ""
	case state == dynamic.StateForbidden && p.trusted:
		// So does one that is refused now, in every replica at once: calling all of them unready would take away what serves.
		state = dynamic.StateSynced
	case state == dynamic.StatePending, state == dynamic.StateForbidden:
		configuration = nil
	}
	p.trusted = state == dynamic.StateSynced
	return dynamic.Message{Provider: Name, Configuration: configuration, State: state, Reason: reason}, changed
}

// state returns the combined status of the watches. GatewayClasses, Gateways and Services are required, and HTTPRoutes
// and BackendTLSPolicies where they are served; without others, only what needs them is affected.
func (p *Provider) state() (dynamic.ProviderState, string) {
	w := &p.watches
	required := []client.Status{w.services.Status(), w.classes.Status(), w.gateways.Status()}
	for _, status := range []client.Status{w.httpRoutes.Status(), w.policies.Status()} {
		if status.State != dynamic.StateAbsent {
			required = append(required, status)
		}
	}
	others := []client.Status{
		w.listenerSets.Status(), w.grpcRoutes.Status(), w.tlsRoutes.Status(), w.tcpRoutes.Status(), w.udpRoutes.Status(),
		w.grants.Status(), w.namespaces.Status(), w.secrets.Status(), w.configMaps.Status(),
		w.definitions.Status(),
	}
	if p.divided != nil {
		others = append(others, p.divided.Status())
	}
	pending, waiting := false, ""
	for _, status := range append(required[:len(required):len(required)], others...) {
		if status.State == dynamic.StatePending {
			pending, waiting = true, cmp.Or(waiting, status.Reason)
		}
	}
	if p.extensions != nil && !pending {
		pending, waiting = p.extensions.Pending()
	}
	if pending {
		return dynamic.StatePending, waiting
	}
	for _, status := range required {
		if status.State != dynamic.StateSynced {
			return status.State, status.Reason
		}
	}
	var reasons []string
	for _, status := range others {
		if status.State == dynamic.StateForbidden {
			reasons = append(reasons, status.Reason)
		}
	}
	return dynamic.StateSynced, strings.Join(reasons, "; ")
}
