// Package endpoint publishes the endpoint sets of the Services of a Kubernetes cluster.
//
// In flow Services and EndpointSlices, and legacy Endpoints where a Service has no slices; out flow
// dynamic.EndpointSets, one for every TCP and UDP port of every Service, under the keys that package backend gives
// them. Where a policy divides the Services of a namespace into environments, there is a set for each environment too.
// Only what has changed is sent, and at once: what happens while a message waits for its receiver goes into the next
// one.
//
// The package never looks at routes, never holds a change back, and does no work for one Service because another one
// has changed.
package endpoint

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Name is the name of the provider of a cluster's endpoints.
const Name = "kubernetesendpoints"

// bareTime is how long a Service must have been without EndpointSlices for legacy Endpoints to be watched: the slices
// of a new Service arrive a moment after it.
const bareTime = 5 * time.Second

// policyTime is how long the start waits for policies, and for the pods that they need, before Services are published
// without them.
const policyTime = 10 * time.Second

// Provider sends the endpoints of one cluster. Its configuration declares nothing, and has the origins of the objects
// that divide Services, the verdicts on them, and those on Services with a rule of KT-env.
type Provider struct {
	cluster  *client.Cluster
	scope    client.Scope
	services *client.Watched[*corev1.Service]
	slices   *client.Watched[*discoveryv1.EndpointSlice]
	cache    *sliceCache
	// wake holds a value when the cache has changed, or the status of a watch.
	wake chan struct{}

	policies     Policies
	environments *Environments
	// patient is set while the start waits for policies and the pods that they need.
	patient atomic.Bool

	mu     sync.Mutex
	legacy *client.Watched[*client.Endpoints] // Nil until a Service needs it.
	// pods are the watches of pods, by what has their tags.
	pods map[podScope]*client.Watched[*metav1.PartialObjectMetadata]
	// applied is what has the tags of the pods of each namespace whose policy is applied.
	applied map[string]podScope
}

// New returns the provider of the endpoints in a scope of the cluster, and has their watches run with the cluster. It
// counts under the provider Name: events by the kind of the object, and builds, pushes and drops by the kind of the
// last event that led to them. Counters may be nil. Policies, which may be nil, divide Services into environments;
// which ones is kept in the environments, which may be nil then.
func New(
	cluster *client.Cluster, scope client.Scope, policies Policies, environments *Environments,
	counters translation.Counters,
) *Provider {
	if counters == nil {
		counters = uncounted{}
	}
	scope.LabelSelector = "" // It selects routes, not endpoints.
	if policies == nil {
		policies = undivided{}
	}
	if environments == nil {
		environments = NewEnvironments()
	}
	p := &Provider{
		cluster: cluster, scope: scope, wake: make(chan struct{}, 1), policies: policies, environments: environments,
		pods: map[podScope]*client.Watched[*metav1.PartialObjectMetadata]{}, applied: map[string]podScope{},
	}
	p.cache = newSliceCache(cluster.Source(), counters, p.changed)
	p.services = client.Watch(cluster, client.Services(), scope)
	p.slices = client.Watch(cluster, client.EndpointSlices(), scope)
	p.services.Notify(p.cache.service)
	p.slices.Notify(p.cache.slice)
	cluster.OnStatus(p.changed)
	policies.Notify(func(string) { p.changed() })
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
	p.patient.Store(!p.cache.trusted())
	sent := status{state: dynamic.StatePending}
	judged := &dynamic.Configuration{}
	patience := time.NewTimer(bareTime)
	defer patience.Stop()
	patience.Stop()
	defer time.AfterFunc(policyTime, func() {
		p.patient.Store(false)
		p.changed()
	}).Stop()
	for waiting := false; ; {
		unread := p.followPolicies()
		now := p.status(sent)
		message := p.message(sent, now)
		found := p.policies.Configuration(unread)
		found.Verdicts = append(found.Verdicts, p.cache.ruleVerdicts(p.policies)...)
		if now.begun && !sameFindings(found, judged) {
			message.Configuration = found
		}
		if now != sent || len(message.Endpoints) > 0 || message.Configuration != nil {
			select {
			case messages <- message:
				sent = now
				if message.Configuration != nil {
					judged = message.Configuration
				}
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

// sameFindings reports whether two configurations that declare nothing say the same.
func sameFindings(a, b *dynamic.Configuration) bool {
	return slices.Equal(a.Verdicts, b.Verdicts) && a.Origins.Same(b.Origins)
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
		p.environments.set(p.cache.divisions())
		p.environments.begin()
	}
	return message
}
