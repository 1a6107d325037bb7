package gateway

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

const (
	// leastInterval is the minimum time between two messages, the default of throttleDuration.
	leastInterval = 10 * time.Millisecond
	// longestPause bounds how long a large configuration makes the provider pause of itself.
	longestPause = 100 * time.Millisecond
)

// Provide implements provider.Provider. It sends nothing but what it waits for until every watch has its first state,
// or cannot have one, and returns nil when ctx ends; nothing else ends it. It must not be called twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	if !p.settled(ctx, messages) {
		return nil
	}
	interval := cmp.Or(time.Duration(p.options.ThrottleDuration), leastInterval)
	pause := time.NewTimer(0)
	defer pause.Stop()
	var sent dynamic.Message
	for first := true; ; first = false {
		began := time.Now()
		next, changed := p.next()
		took := time.Since(began)
		if first || changed || next.State != sent.State || next.Reason != sent.Reason {
			select {
			case messages <- next:
				sent = next
			case <-ctx.Done():
				return nil
			}
		}
		// A pause ten times as long as the translation bounds the cost of many edits of many routes to a tenth of a core.
		pause.Reset(max(interval, min(10*took, longestPause)))
		select {
		case <-p.memory.Touched():
		case <-p.statusChanged:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// settled waits until no watch is pending, and reports meanwhile what is pending; false means that ctx has ended.
func (p *Provider) settled(ctx context.Context, messages chan<- dynamic.Message) bool {
	reported := ""
	for {
		if ctx.Err() != nil {
			return false
		}
		state, reason := p.state()
		if state != dynamic.StatePending {
			return true
		}
		if reason != reported {
			reported = reason
			select {
			case messages <- dynamic.Message{Provider: Name, Reason: reason}:
			case <-ctx.Done():
				return false
			}
		}
		select {
		case <-p.statusChanged:
		case <-ctx.Done():
			return false
		}
	}
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
