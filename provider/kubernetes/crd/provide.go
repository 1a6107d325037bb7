package crd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// Provide implements provider.Provider: it sends the whole configuration as soon as everything has been read that can
// be, and again after each change, the first one in a quiet time at once and then with a pause. It returns nil when ctx
// ends, and nothing else ends it. It may be called again, but not twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	if !p.wait(ctx, messages) {
		return nil
	}
	var sent dynamic.Message
	pause := time.NewTimer(0)
	defer pause.Stop()
	for first := true; ; first = false {
		message := dynamic.Message{Provider: Name}
		var changed bool
		began := time.Now()
		message.Configuration, changed = p.memory.Update(p.translate)
		p.translator.pairs.Forget()
		took := time.Since(began)
		message.State, message.Reason = p.state()
		if first || changed || message.State != sent.State || message.Reason != sent.Reason {
			if !send(ctx, messages, message) {
				return nil
			}
			sent = message
		}
		// A pause ten times as long as the translation bounds the cost of many edits of many routes to a tenth of a core.
		pause.Reset(max(p.throttle, min(10*took, longestPause)))
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

// longestPause bounds how long a large configuration makes the provider pause of itself.
const longestPause = 100 * time.Millisecond

func send(ctx context.Context, messages chan<- dynamic.Message, message dynamic.Message) bool {
	select {
	case messages <- message:
		return true
	case <-ctx.Done():
		return false
	}
}

// wait returns when no watch is pending any more, and logs meanwhile what it waits for. It is false when ctx has
// ended.
func (p *Provider) wait(ctx context.Context, messages chan<- dynamic.Message) bool {
	reported := ""
	for {
		pending, reason := p.Pending()
		if !pending {
			return true
		}
		if reason != reported {
			if reported = reason; !send(ctx, messages, dynamic.Message{Provider: Name, Reason: reason}) {
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

// Pending reports whether any watch is pending, and why. It may be called from any goroutine.
func (p *Provider) Pending() (pending bool, reason string) {
	for _, one := range p.watches() {
		if status := one.Status(); status.State == dynamic.StatePending {
			pending = true
			if reason = status.Reason; reason != "" {
				return true, reason
			}
		}
	}
	return pending, ""
}

// watches returns all watches, in a fixed order.
func (p *Provider) watches() []watch {
	all := slices.Clone(p.others)
	for _, kind := range kinds() {
		all = append(all, p.kinds[kind])
	}
	return all
}

// state returns the status of the provider. It is absent when the cluster serves none of the kinds. It is forbidden
// when Services may not be read, or no IngressRoutes where they are served: nothing could be routed. Everything else
// that is forbidden is a reason beside its being synced, and so is everything once it has been: what has been read
// stays good, and a right that is lost is lost by every replica at once.
func (p *Provider) state() (dynamic.ProviderState, string) {
	var reasons []string
	for _, one := range p.watches() {
		if status := one.Status(); status.State == dynamic.StateForbidden {
			reasons = append(reasons, status.Reason)
		}
	}
	reason := strings.Join(reasons, "; ")
	absent := true
	for one := range maps.Values(p.kinds) {
		absent = absent && one.Status().State == dynamic.StateAbsent
	}
	if absent {
		p.trusted = false
		return dynamic.StateAbsent, "the cluster serves none of the groups " + strings.Join(v1alpha1.Groups(), ", ")
	}
	readable, refused := 0, 0
	for _, group := range v1alpha1.Groups() {
		switch p.kinds[kindOf(v1alpha1.KindIngressRoute, group)].Status().State {
		case dynamic.StateForbidden:
			refused++
		case dynamic.StateAbsent:
		default:
			readable++
		}
	}
	if !p.trusted && (p.others[0].Status().State == dynamic.StateForbidden || readable == 0 && refused > 0) {
		return dynamic.StateForbidden, reason
	}
	p.trusted = readable > 0 || p.trusted && refused > 0
	return dynamic.StateSynced, reason
}
