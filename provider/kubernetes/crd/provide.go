package crd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Provide implements provider.Provider, as [translation.Sender.Run]. It may be called again, but not twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	sender := translation.Sender{
		Provider: Name, Interval: p.throttle, Adaptive: true, Touched: p.memory.Touched(), Status: p.statusChanged,
		Pending: p.Pending, Next: p.next,
	}
	return sender.Run(ctx, messages)
}

// next translates what has changed and returns the message of the whole.
func (p *Provider) next() (next dynamic.Message, changed bool) {
	next.Provider = Name
	next.Configuration, changed = p.memory.Update(p.translate)
	p.translator.pairs.Forget()
	next.State, next.Reason = p.state()
	return next, changed
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
