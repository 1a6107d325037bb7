package ingress

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

// update translates what has changed and returns the whole.
func (p *Provider) update() (configuration *dynamic.Configuration, changed bool) {
	p.election = election{}
	defer p.pairs.Forget()
	return p.memory.Update(p.translate)
}

// state returns the combined status of the watches. Ingresses and Services are required, and what says that another
// provider reads an Ingress; without others, only what needs them is affected.
func (p *Provider) state() (dynamic.ProviderState, string) {
	required := []client.Status{p.watches.ingresses.Status(), p.watches.services.Status()}
	if p.watches.excluding != nil {
		required = append(required, p.watches.excluding.Status())
	}
	if p.watches.namespaces != nil {
		required = append(required, p.watches.namespaces.Status())
	}
	others := []client.Status{p.watches.secrets.Status()}
	if p.environments != nil {
		others = append(others, p.environments.Status())
	}
	if p.watches.classes != nil {
		others = append(others, p.watches.classes.Status())
	}
	if p.watches.nodes != nil {
		others = append(others, p.watches.nodes.Status())
	}
	return client.Combined(required, others)
}
