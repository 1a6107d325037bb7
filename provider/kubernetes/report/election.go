package report

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

const (
	// leaseName is the name of the Lease.
	leaseName = "sluice"
	// leaseDuration is how long a leader that says nothing more stays one.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a leader tries to say something before it gives up.
	renewDeadline = 10 * time.Second
	// retryPeriod is how often a leader says that it is one, and how often the others look.
	retryPeriod = 2 * time.Second
)

// election makes one of all instances the leader.
type election struct {
	lock lock
}

func newElection(options Options, refused *refusals) (*election, error) {
	client, err := options.Clients.REST(coordinationv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &election{lock{
		client: client, refused: refused, identity: options.Identity,
		place: metav1.ObjectMeta{Namespace: options.Namespace, Name: leaseName},
	}}, nil
}

// run takes part until ctx ends; lead is called whenever this instance has become the leader, with a context that ends
// when it is none any more. When ctx ends, a leader gives the Lease back once lead has returned, so that another one
// takes over at once.
func (e *election) run(ctx context.Context, lead func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	// What there is to say about requests is said by the lock, once.
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
			Lock:            &e.lock,
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

// serve leads until it is told to stop by either context. The election calls it on a goroutine of its own, perhaps when
// the term is over already.
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

// end lets nobody lead any more and waits until nobody does.
func (t *term) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.jobs.Wait()
}
