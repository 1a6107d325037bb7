package ingressnginx

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// leastInterval is the minimum time between two messages, the default of throttleDuration.
const leastInterval = 10 * time.Millisecond

// Provide implements provider.Provider. It sends nothing but what it waits for until every watch has its first state,
// or cannot have one, and returns nil when ctx ends; nothing else ends it. It must not be called twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	if !p.settled(ctx, messages) {
		return nil
	}
	interval := cmp.Or(time.Duration(p.config.ThrottleDuration), leastInterval)
	var sent dynamic.Message
	for first := true; ; first = false {
		next, changed := p.next()
		if first || changed || next.State != sent.State || next.Reason != sent.Reason {
			select {
			case messages <- next:
				sent = next
			case <-ctx.Done():
				return nil
			}
			if !pause(ctx, interval) {
				return nil
			}
		}
		select {
		case <-p.memory.Touched():
		case <-p.status:
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
		case <-p.status:
		case <-ctx.Done():
			return false
		}
	}
}

// next translates what has changed and returns the state to send.
func (p *Provider) next() (next dynamic.Message, changed bool) {
	if p.unreadableConfig() != p.unreadable {
		p.memory.Touch(settingsSource())
	}
	configuration, changed := p.update()
	state, reason := p.state()
	switch {
	case state == dynamic.StatePending:
		// A watch that starts again holds what it had.
		state, reason = dynamic.StateSynced, ""
	case state == dynamic.StateForbidden && p.trusted:
		// So does one that is refused now, in every replica at once: calling all of them unready would take away what serves.
		state = dynamic.StateSynced
	}
	p.trusted = state == dynamic.StateSynced
	return dynamic.Message{Provider: Name, Configuration: configuration, State: state, Reason: reason}, changed
}

// state returns the combined status of the watches. Ingresses, what selects them and Services are required; without
// others, only what needs them is affected, and what they protect is closed.
func (p *Provider) state() (dynamic.ProviderState, string) {
	w := &p.watches
	required := []client.Status{w.ingresses.Status(), w.services.Status(), w.classes.Status()}
	if w.namespaces != nil {
		required = append(required, w.namespaces.Status())
	}
	others := []client.Status{w.secrets.Status(), w.configMaps.Status()}
	if p.environments != nil {
		others = append(others, p.environments.Status())
	}
	pending, waiting := false, ""
	for _, status := range append(required[:len(required):len(required)], others...) {
		if status.State == dynamic.StatePending {
			pending, waiting = true, cmp.Or(waiting, status.Reason)
		}
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
		if status.State != dynamic.StateSynced && status.Reason != "" {
			reasons = append(reasons, status.Reason)
		}
	}
	return dynamic.StateSynced, strings.Join(reasons, "; ")
}

// pause waits; false means that ctx has ended.
func pause(ctx context.Context, interval time.Duration) bool {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
