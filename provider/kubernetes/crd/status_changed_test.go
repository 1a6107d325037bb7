package crd

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// stands is a watch that stands as a test says.
type stands struct{ state dynamic.ProviderState }

func (s *stands) Status() client.Status {
	if s.state == dynamic.StateForbidden {
		return client.Status{State: s.state, Reason: "why"}
	}
	return client.Status{State: s.state}
}

// TestARefusalLeavesGood demands that a right that is lost does not make a provider useless that has read everything.
func TestARefusalLeavesGood(t *testing.T) {
	const synced, forbidden, absent = dynamic.StateSynced, dynamic.StateForbidden, dynamic.StateAbsent
	services, routes := &stands{}, &stands{}
	p := &Provider{kinds: map[string]kindWatch{}, others: []watch{services}}
	for _, kind := range kinds() {
		p.kinds[kind] = kindWatch{watch: &stands{absent}}
	}
	p.kinds[kindOf(v1alpha1.KindMiddleware, v1alpha1.GroupTraefik)] = kindWatch{watch: &stands{synced}}
	p.kinds[kindOf(v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)] = kindWatch{watch: routes}
	for i, step := range []struct{ services, routes, want dynamic.ProviderState }{
		{forbidden, synced, forbidden},
		{synced, forbidden, forbidden},
		{synced, synced, synced},
		{forbidden, synced, synced},
		{synced, forbidden, synced},
		{forbidden, forbidden, synced},
		{synced, absent, synced}, // Now nothing is known any more.
		{synced, forbidden, forbidden},
	} {
		services.state, routes.state = step.services, step.routes
		state, reason := p.state()
		if refused := step.services == forbidden || step.routes == forbidden; state != step.want ||
			(reason != "") != refused {
			t.Errorf("step %d: %v because %q, want %v", i, state, reason, step.want)
		}
	}
}
