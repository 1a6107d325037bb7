// Package report reports to a cluster what became of its objects.
//
// Input are verdicts and the state of the active table from the pipeline, and the Ingresses that Sluice serves. Output
// are Kubernetes Events on every object with a verdict (events.go, event_writer.go), status conditions of the objects
// of sluice.dev and of VirtualEnvironments (status.go, status_kinds.go), and the load-balancer status of Ingresses
// (ingress_status.go). One elected instance writes (package election); the others keep the same state and can take over
// at any time. Everything is written at a bounded rate, and only where it differs from what the cluster has.
//
// Publish does not block. Writes without permission are logged once, retried, and affect nothing else.
package report

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
	"github.com/sluiceproxy/sluice/telemetry"
)

// leaseName is the name of the Lease by which the leader is elected.
const leaseName = "sluice"

// Clients are the connections to the API groups that are written to; *client.Cluster is one.
type Clients interface {
	// REST returns the client of one group and version.
	REST(version schema.GroupVersion) (rest.Interface, error)
}

// Objects finds the objects with status conditions as the cluster has them now.
type Objects interface {
	// Object returns a VirtualEnvironment, or a pointer to one of the types of package v1alpha1, with its status and
	// metadata; false when it is not there. The object is shared and is not changed.
	Object(kind, namespace, name string) (metav1.Object, bool)
}

// Metrics counts what was not written.
type Metrics interface {
	// DropEvent counts an Event that was not written because too many were due.
	DropEvent()
}

// Job is what a leader does beside reporting, until ctx ends; note gets the result of each of its requests.
type Job func(ctx context.Context, note election.Note)

// Options are the dependencies of a Reporter.
type Options struct {
	// Clients and Logger are needed.
	Clients Clients
	Logger  telemetry.Logger
	// Providers are the names of the providers that read this cluster; Events are written about their verdicts. None
	// means that every verdict on a Resource is about this cluster.
	Providers []string
	// Exists reports whether the cluster has an object, with its uid, that one of the providers reads. It is needed, and
	// called by several goroutines. An object that no longer exists gets no Event when its verdicts are gone.
	Exists func(*dynamic.Resource) bool
	// State returns the state of this cluster's providers; it is required, and called by several goroutines. Its channel
	// is nil when there is no further one.
	State func() provider.State
	// Objects finds those whose status conditions are written; nil writes none.
	Objects Objects
	// Addresses are those that the Ingresses of each provider show; none writes none.
	Addresses []*Addresses
	// Jobs run too while this instance is the leader.
	Jobs []Job
	// Metrics may be nil.
	Metrics Metrics
	// Namespace is where the Lease is, by which the leader is elected; empty means election.OwnNamespace.
	Namespace string
	// Identity is the name of this instance among all; empty means the host's name and something random.
	Identity string
}

// Reporter reports verdicts to one cluster. Publish may be called from any goroutine; Run may be called once.
type Reporter struct {
	options   Options
	election  *election.Election
	events    *events
	status    *status
	ingresses []*ingressStatus
	note      election.Note
}

// New returns a Reporter that writes nothing before Run. It fails when the clients cannot be made.
func New(options Options) (*Reporter, error) {
	if options.Metrics == nil {
		options.Metrics = uncounted{}
	}
	permissions := newPermissionErrors(options.Logger)
	elected, err := election.New(election.Options{
		Clients: options.Clients, Namespace: options.Namespace, Name: leaseName, Identity: options.Identity,
		Note: permissions.note,
	})
	if err != nil {
		return nil, err
	}
	options.Identity = elected.Identity()
	r := &Reporter{options: options, election: elected, events: newEvents(options, permissions), note: permissions.note}
	if options.Objects != nil {
		r.status = newStatus(options, permissions)
	}
	for _, addresses := range options.Addresses {
		r.ingresses = append(r.ingresses, newIngressStatus(options, addresses, permissions))
	}
	return r, nil
}

// Publish notes verdicts: every one of each object whose verdicts are new or have changed, and an accepting one for an
// object that has recovered or is gone. It returns at once.
func (r *Reporter) Publish(verdicts []dynamic.Verdict) { r.events.note(verdicts) }

// Run takes part in the election of a leader until ctx ends, and writes while this instance is the leader.
func (r *Reporter) Run(ctx context.Context) error { return r.election.Run(ctx, r.lead) }

// lead writes until ctx ends.
func (r *Reporter) lead(ctx context.Context) {
	r.options.Logger.Debug("this instance writes Events and statuses", "identity", r.options.Identity)
	var jobs sync.WaitGroup
	jobs.Go(func() { r.events.run(ctx) })
	if r.status != nil {
		jobs.Go(func() { r.status.run(ctx) })
	}
	for _, one := range r.ingresses {
		jobs.Go(func() { one.run(ctx) })
	}
	for _, job := range r.options.Jobs {
		jobs.Go(func() { job(ctx, r.note) })
	}
	jobs.Wait()
}

type uncounted struct{}

func (uncounted) DropEvent() {}
