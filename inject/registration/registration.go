// Package registration keeps the MutatingWebhookConfiguration of the injector right.
//
// A Registration writes the bundle of authorities into webhooks[].clientConfig.caBundle, and nothing else, by
// server-side apply with a field manager of its own, and again whenever something else has changed it. An Enforcer sets
// failurePolicy: Fail once a dry run has proved that pods are injected, and Ignore before the last replica leaves; it
// has another field manager. Neither touches selectors, rules or the address, which belong to who installs the webhook.
package registration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// BundleManager is the field manager of caBundle.
	BundleManager = "sluice-injector"
	// PolicyManager is the field manager of failurePolicy.
	PolicyManager = "sluice-injector-policy"
	// resource is the resource of the configurations, kind their kind.
	resource = "mutatingwebhookconfigurations"
	kind     = "MutatingWebhookConfiguration"
	// lookInterval is how often the configuration is compared at least, retryInterval the pause after a failure.
	lookInterval  = time.Minute
	retryInterval = 5 * time.Second
	// leastInterval is the least time between two writes, so that two writers that disagree do not load the API server.
	leastInterval = 500 * time.Millisecond
	// requestTimeout is the time limit of one request.
	requestTimeout = 5 * time.Second
)

// Bundles are the authorities that clients must trust; *authority.Keeper has them.
type Bundles interface {
	// Bundle returns them as PEM; nil when it is not known what they are now.
	Bundle(ctx context.Context) []byte
	// BundleChanged receives when they have changed.
	BundleChanged() <-chan struct{}
	// Published reports that every webhook has a bundle, or that there is none to publish to.
	Published(bundle []byte)
}

// Meter counts; *metrics.Injector does.
type Meter interface {
	// Patched counts a write to the configuration, and whether it has succeeded.
	Patched(ok bool)
}

// Service is the Service by which the API server reaches the injector.
type Service struct{ Namespace, Name string }

// Options are the dependencies of a Registration.
type Options struct {
	// Name is the name of the MutatingWebhookConfiguration.
	Name string
	// Webhooks are the names of the webhooks in it that are kept; without any, those are that lead to Service.
	Webhooks []string
	Service  Service
	// Bundles is nil where the bundle is kept by others.
	Bundles Bundles
	Meter   Meter
	Logger  telemetry.Logger
}

// Registration keeps one configuration. Its methods may be called from any goroutine; Run once.
type Registration struct {
	options Options
	watched *client.Watched[*admissionv1.MutatingWebhookConfiguration]
	client  rest.Interface
	changed chan struct{}

	mu        sync.Mutex
	problem   string
	listeners []chan<- struct{}
}

// Scheme registers the types that a Registration reads; the cluster must be connected with it.
func Scheme(types *runtime.Scheme) error { return admissionv1.AddToScheme(types) }

// New returns the registration of a cluster, which is watched while the cluster runs.
func New(cluster *client.Cluster, options Options) (*Registration, error) {
	requests, err := cluster.REST(admissionv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	r := &Registration{options: options, client: requests, changed: make(chan struct{}, 1)}
	r.watched = client.Watch(cluster, client.Resource[*admissionv1.MutatingWebhookConfiguration]{
		GroupVersion: admissionv1.SchemeGroupVersion, Name: resource, Kind: kind,
		NewList:       func() runtime.Object { return &admissionv1.MutatingWebhookConfigurationList{} },
		FieldSelector: "metadata.name=" + options.Name,
	}, client.Scope{})
	r.watched.Notify(func(_, _ *admissionv1.MutatingWebhookConfiguration) { r.notify() })
	cluster.OnStatus(r.notify) // It may be known now that there is none.
	return r, nil
}

// Follow returns a channel that receives when the configuration may have changed. It must be called before the cluster
// runs.
func (r *Registration) Follow() <-chan struct{} {
	listener := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners, listener)
	return listener
}

func (r *Registration) notify() {
	r.mu.Lock()
	listeners := r.listeners
	r.mu.Unlock()
	for _, listener := range append([]chan<- struct{}{r.changed}, listeners...) {
		select {
		case listener <- struct{}{}:
		default:
		}
	}
}

// Run keeps the bundle until ctx ends.
func (r *Registration) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var bundles <-chan struct{}
	if r.options.Bundles != nil {
		bundles = r.options.Bundles.BundleChanged()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.changed:
		case <-bundles:
		}
		timer.Reset(r.step(ctx))
		pause(ctx, leastInterval)
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// step writes the bundle if it is another one, and returns when to look again at the latest.
func (r *Registration) step(ctx context.Context) time.Duration {
	if r.options.Bundles == nil {
		return lookInterval
	}
	if !r.synced() {
		return retryInterval
	}
	bundle := r.options.Bundles.Bundle(ctx)
	if bundle == nil {
		return retryInterval
	}
	object, webhooks, problem := r.Webhooks()
	r.report(problem)
	if len(webhooks) == 0 {
		r.options.Bundles.Published(bundle)
		return lookInterval
	}
	current := func(webhook admissionv1.MutatingWebhook) bool {
		return bytes.Equal(webhook.ClientConfig.CABundle, bundle)
	}
	if !slices.ContainsFunc(webhooks, func(webhook admissionv1.MutatingWebhook) bool { return !current(webhook) }) {
		r.options.Bundles.Published(bundle)
		return lookInterval
	}
	err := r.apply(ctx, BundleManager, object.UID, webhooks, map[string]any{
		"clientConfig": map[string]any{"caBundle": bundle}, // Marshalled as base64.
	})
	r.options.Meter.Patched(err == nil)
	if err != nil {
		r.report(fmt.Sprintf("the caBundle cannot be written: %v", err))
		return retryInterval
	}
	r.options.Logger.Info("the caBundle of the webhook is written", "configuration", r.options.Name, "webhooks",
		names(webhooks))
	return lookInterval // The watch has the change before.
}

// synced reports whether the configuration has been read.
func (r *Registration) synced() bool { return r.watched.Status().State == dynamic.StateSynced }

// Webhooks returns the configuration and the webhooks in it that are kept; without any, why there are none.
func (r *Registration) Webhooks() (
	object *admissionv1.MutatingWebhookConfiguration, webhooks []admissionv1.MutatingWebhook, problem string,
) {
	object, found := r.watched.Get("", r.options.Name)
	if !found {
		return nil, nil, "there is no " + kind + " of that name"
	}
	for _, webhook := range object.Webhooks {
		if r.selects(webhook) {
			webhooks = append(webhooks, webhook)
		}
	}
	if len(webhooks) == 0 {
		if len(r.options.Webhooks) > 0 {
			return object, nil, "it has no webhook of a name in injector.webhooks"
		}
		return object, nil, fmt.Sprintf("no webhook in it leads to the Service %s/%s", r.options.Service.Namespace,
			r.options.Service.Name)
	}
	return object, webhooks, ""
}

func (r *Registration) selects(webhook admissionv1.MutatingWebhook) bool {
	if len(r.options.Webhooks) > 0 {
		return slices.Contains(r.options.Webhooks, webhook.Name)
	}
	service := webhook.ClientConfig.Service
	return service != nil && service.Namespace == r.options.Service.Namespace && service.Name == r.options.Service.Name
}

// report logs a problem when it is another one than before.
func (r *Registration) report(problem string) {
	r.mu.Lock()
	before := r.problem
	r.problem = problem
	r.mu.Unlock()
	switch {
	case problem == before:
	case problem != "":
		r.options.Logger.Warn("the registration of the webhook is not kept", "configuration", r.options.Name, "reason",
			problem)
	default:
		r.options.Logger.Info("the registration of the webhook is kept again", "configuration", r.options.Name)
	}
}

// apply writes the same fields of several webhooks by server-side apply. The uid prevents that the configuration is
// created when it has just been deleted.
func (r *Registration) apply(
	ctx context.Context, manager string, uid types.UID, webhooks []admissionv1.MutatingWebhook, fields map[string]any,
) error {
	list := make([]map[string]any, 0, len(webhooks))
	for _, webhook := range webhooks {
		entry := map[string]any{"name": webhook.Name}
		for name, value := range fields {
			entry[name] = value
		}
		list = append(list, entry)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": admissionv1.SchemeGroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"name": r.options.Name, "uid": uid}, "webhooks": list,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	force := true
	return r.client.Patch(types.ApplyPatchType).Resource(resource).Name(r.options.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: manager, Force: &force}, metav1.ParameterCodec).
		Body(body).MaxRetries(0).Do(ctx).Error()
}

func names(webhooks []admissionv1.MutatingWebhook) []string {
	var all []string
	for _, webhook := range webhooks {
		all = append(all, webhook.Name)
	}
	return all
}
