package ingressnginx

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Provide implements provider.Provider, as [translation.Loop.Run].
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	loop := translation.Loop{
		Provider: Name, Interval: time.Duration(p.config.ThrottleDuration), Touched: p.memory.Touched(), Status: p.status,
		Update: p.update, State: p.state,
	}
	return loop.Run(ctx, messages)
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
	return client.Combined(required, others)
}
