// Package endpoint publishes the endpoint sets of the Services of a Kubernetes cluster.
//
// In flow Services and EndpointSlices, and legacy Endpoints where a Service has no slices; out flow
// dynamic.EndpointSets, one for every TCP port of every Service, under the keys that package backend gives them. Only
// what has changed is sent, and at once: what happens while a message waits for its receiver goes into the next one.
//
// The package never looks at routes, never holds a change back, and does no work for one Service because another one
// has changed.
package endpoint

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Name is the name of the provider of a cluster's endpoints.
const Name = "kubernetesendpoints"

// bareTime is how long a Service must have been without EndpointSlices for legacy Endpoints to be watched: the slices
// of a new Service arrive a moment after it.
const bareTime = 5 * time.Second

// Provider sends the endpoints of one cluster. It sends no configuration.
type Provider struct {
	cluster  *client.Cluster
	scope    client.Scope
	services *client.Watched[*corev1.Service]
	slices   *client.Watched[*discoveryv1.EndpointSlice]
	cache    *sliceCache
	// wake holds a value when the cache has changed, or the status of a watch.
	wake chan struct{}

	mu     sync.Mutex
	legacy *client.Watched[*client.Endpoints] // Nil until a Service needs it.
}

// New returns the provider of the endpoints in a scope of the cluster, and has their watches run with the cluster. It
// counts under the provider Name: events by the kind of the object, and builds, pushes and drops by the kind of the
// last event that led to them. Counters may be nil.
func New(cluster *client.Cluster, scope client.Scope, counters translation.Counters) *Provider {
	if counters == nil {
		counters = uncounted{}
	}
	scope.LabelSelector = "" // It selects routes, not endpoints.
	p := &Provider{cluster: cluster, scope: scope, wake: make(chan struct{}, 1)}
	p.cache = newSliceCache(cluster.Source(), counters, p.changed)
	p.services = client.Watch(cluster, client.Services(), scope)
	p.slices = client.Watch(cluster, client.EndpointSlices(), scope)
	p.services.Notify(p.cache.service)
	p.slices.Notify(p.cache.slice)
	cluster.OnStatus(p.changed)
	return p
}

// uncounted counts nothing.
type uncounted struct{}

// CountProvider does nothing.
func (uncounted) CountProvider(string, string, string, int) {}

// changed wakes Provide; many changes make one wake-up.
func (p *Provider) changed() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Provide waits until Services and EndpointSlices have been read, or may not be read, and sends all sets; from then on
// it sends those that have changed. It may be called again after it has returned, and begins with all sets again. It
// returns nil when ctx ends.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	p.cache.again()
	sent := status{state: dynamic.StatePending}
	patience := time.NewTimer(bareTime)
	defer patience.Stop()
	patience.Stop()
	for waiting := false; ; {
		now := p.status(sent)
		message := p.message(sent, now)
		if now != sent || len(message.Endpoints) > 0 {
			select {
			case messages <- message:
				sent = now
			case <-ctx.Done():
				p.cache.undelivered(message.Endpoints)
				return nil
			}
		}
		if now.begun && !waiting && p.wanting() {
			waiting = true
			patience.Reset(bareTime)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-patience.C:
			if waiting = false; p.wanting() {
				p.watchLegacy()
			}
		}
	}
}

// message returns what there is to say.
func (p *Provider) message(sent, now status) dynamic.Message {
	message := dynamic.Message{Reason: now.reason}
	// Pending is the initial status; having been so for too long must be kept.
	if now.state != sent.state && now.state != dynamic.StatePending {
		message.State = now.state
	}
	if now.begun {
		message.Endpoints = p.cache.collect()
	}
	return message
}
