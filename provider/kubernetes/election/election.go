// Package election elects one of the instances of Sluice in a cluster, by a Lease.
//
// An Election takes part by client-go's library. Its leader's context ends before another instance may lead, as long as
// clocks run equally fast, and a leader that ends gives the Lease back.
package election

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

const (
	// leases is the resource of Leases as RBAC rules name it.
	leases = "leases.coordination.k8s.io"
	// leaseDuration is how long a Lease that is not renewed is valid.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a leader tries to renew before it stops leading.
	renewDeadline = 10 * time.Second
	// retryPeriod is the interval at which a leader renews and the other instances try to acquire the Lease.
	retryPeriod = 2 * time.Second
	// requestTimeout bounds one request.
	requestTimeout = 5 * time.Second
)

// Clients are the connections to API groups; *client.Cluster is one.
type Clients interface {
	// REST returns the client of one group and version.
	REST(version schema.GroupVersion) (rest.Interface, error)
}

// Note takes the result of a request in a namespace, with verb and resource as RBAC rules name them.
type Note func(verb, resource, namespace string, err error)

// Options say which Lease it is about.
type Options struct {
	// Clients are needed.
	Clients Clients
	// Namespace and Name are those of the Lease. An empty namespace means OwnNamespace.
	Namespace, Name string
	// Identity is the name of this instance among all; empty means the host's name and something random.
	Identity string
	// Note gets the result of each request; nil notes nothing.
	Note Note
}

// Election is this instance's part in an election.
type Election struct {
	lock *leaseLock
}

// New returns an election in which this instance does not take part before Run. It fails when the client can't be made.
func New(options Options) (*Election, error) {
	if options.Namespace == "" {
		options.Namespace = OwnNamespace()
	}
	if options.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("kubernetes: name of this host: %w", err)
		}
		options.Identity = host + "_" + rand.Text()
	}
	if options.Note == nil {
		options.Note = func(string, string, string, error) {}
	}
	client, err := options.Clients.REST(coordinationv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Election{lock: &leaseLock{
		LeaseLock: resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Name},
			Client:     coordinationclient.New(client),
			LockConfig: resourcelock.ResourceLockConfig{Identity: options.Identity},
		},
		note: options.Note,
	}}, nil
}

// Identity returns the name of this instance.
func (e *Election) Identity() string { return e.lock.Identity() }

// Run takes part in the election until ctx ends. It calls lead whenever this instance becomes the leader, with a
// context that ends when it no longer is; an instance whose lead returns earlier remains the leader. When ctx ends, a
// leader releases the Lease after lead has returned, so that another instance takes over at once.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context)) error {
	return elect(ctx, e.lock, lead)
}

// leaseLock is client-go's LeaseLock with a time limit for each request, whose results are noted.
type leaseLock struct {
	resourcelock.LeaseLock

	note Note
}

// Get reads the Lease.
func (l *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	record, raw, err := l.LeaseLock.Get(ctx)
	l.note("get", leases, l.LeaseMeta.Namespace, err)
	return record, raw, err
}

// Create creates the Lease.
func (l *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := l.LeaseLock.Create(ctx, record)
	noted := err
	if apierrors.IsNotFound(err) {
		// Without the namespace there is never a leader, and nothing is ever written.
		noted = errors.New("namespace " + l.LeaseMeta.Namespace + ": " + err.Error())
	}
	l.note("create", leases, l.LeaseMeta.Namespace, noted)
	return err
}

// Update replaces the Lease that was read last.
func (l *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := l.LeaseLock.Update(ctx, record)
	l.note("update", leases, l.LeaseMeta.Namespace, err)
	return err
}

// elect is Run.
func elect(ctx context.Context, lock resourcelock.Interface, lead func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	// The lock logs failed requests, once each; the library would log every one of them.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	term := &term{until: ctx, lead: lead}
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		<-ctx.Done()
		term.end()
		stop()
	})
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:            lock,
			LeaseDuration:   leaseDuration,
			RenewDeadline:   renewDeadline,
			RetryPeriod:     retryPeriod,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: term.serve,
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return fmt.Errorf("leader election: %w", err)
		}
		elector.Run(electing)
		term.jobs.Wait()
	}
	return nil
}

// term is the time in which this instance may lead.
type term struct {
	until context.Context
	lead  func(context.Context)

	mu   sync.Mutex
	over bool
	jobs sync.WaitGroup
}

// serve leads until either context ends. The election calls it on a goroutine of its own, possibly after the term.
func (t *term) serve(leading context.Context) {
	t.mu.Lock()
	if t.over || leading.Err() != nil {
		t.mu.Unlock()
		return
	}
	t.jobs.Add(1)
	t.mu.Unlock()
	defer t.jobs.Done()
	leading, cancel := context.WithCancel(leading)
	defer cancel()
	defer context.AfterFunc(t.until, cancel)()
	t.lead(leading)
}

// end prevents further calls of lead and waits until the current one has returned.
func (t *term) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.jobs.Wait()
}

// namespaceFile is where a pod finds the namespace of its service account.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// OwnNamespace returns the namespace that Sluice runs in: that of its service account, else the one that the
// environment variable POD_NAMESPACE names, else default.
func OwnNamespace() string {
	if content, err := os.ReadFile(namespaceFile); err == nil {
		if name := strings.TrimSpace(string(content)); name != "" {
			return name
		}
	}
	if name := os.Getenv("POD_NAMESPACE"); name != "" {
		return name
	}
	return metav1.NamespaceDefault
}
