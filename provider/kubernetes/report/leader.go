package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

const (
	// leaseName is the name of the Lease, and leases its resource as RBAC rules name it.
	leaseName = "sluice"
	leases    = "leases.coordination.k8s.io"
	// leaseDuration is how long a Lease that is not renewed is valid.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a leader tries to renew before it stops leading.
	renewDeadline = 10 * time.Second
	// retryPeriod is the interval at which a leader renews and the other instances try to acquire the Lease.
	retryPeriod = 2 * time.Second
)

// leaseLock is client-go's LeaseLock with a time limit for each request and a log line for those that are refused.
type leaseLock struct {
	resourcelock.LeaseLock
	permissions *permissionErrors
}

// newLeaseLock returns the lock that all instances share.
func newLeaseLock(options Options, permissions *permissionErrors) (*leaseLock, error) {
	client, err := options.Clients.REST(coordinationv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &leaseLock{
		LeaseLock: resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: options.Namespace, Name: leaseName},
			Client:     coordinationclient.New(client),
			LockConfig: resourcelock.ResourceLockConfig{Identity: options.Identity},
		},
		permissions: permissions,
	}, nil
}

// Get reads the Lease.
func (l *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	record, raw, err := l.LeaseLock.Get(ctx)
	l.permissions.note("get", leases, l.LeaseMeta.Namespace, err)
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
	l.permissions.note("create", leases, l.LeaseMeta.Namespace, noted)
	return err
}

// Update replaces the Lease that was read last.
func (l *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := l.LeaseLock.Update(ctx, record)
	l.permissions.note("update", leases, l.LeaseMeta.Namespace, err)
	return err
}

// elect takes part in the election until ctx ends. It calls lead whenever this instance becomes the leader, with a
// context that ends when it no longer is. When ctx ends, a leader releases the Lease after lead has returned, so that
// another instance takes over at once.
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
