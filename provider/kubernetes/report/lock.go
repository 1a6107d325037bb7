package report

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leases is the resource of Leases, as RBAC rules name it.
const leases = "leases.coordination.k8s.io"

// lock is the Lease by which the leader is elected. It belongs to one election.
type lock struct {
	client   rest.Interface
	refused  *refusals
	identity string
	// place has the namespace and the name of the Lease.
	place metav1.ObjectMeta
	lease *coordinationv1.Lease
}

// Get reads the Lease.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found := &coordinationv1.Lease{}
	err := l.client.Get().Namespace(l.place.Namespace).Resource("leases").Name(l.place.Name).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Into(found)
	l.refused.note("get", leases, l.place.Namespace, err)
	if err != nil {
		return nil, nil, err
	}
	l.lease = found
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&found.Spec)
	raw, err := json.Marshal(record)
	return record, raw, err
}

// Create makes the Lease.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	wanted := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.place.Namespace, Name: l.place.Name},
		Spec:       resourcelock.LeaderElectionRecordToLeaseSpec(&record),
	}
	made := &coordinationv1.Lease{}
	err := l.client.Post().Namespace(l.place.Namespace).Resource("leases").Body(wanted).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Into(made)
	told := err
	if apierrors.IsNotFound(err) {
		// Nobody can lead, and nothing is ever written, where there is no such namespace.
		told = errors.New("namespace " + l.place.Namespace + ": " + err.Error())
	}
	l.refused.note("create", leases, l.place.Namespace, told)
	if err == nil {
		l.lease = made
	}
	return err
}

// Update replaces the Lease that was read last.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.lease == nil {
		return errors.New("a Lease is updated that has not been read")
	}
	wanted := l.lease.DeepCopy()
	wanted.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	updated := &coordinationv1.Lease{}
	err := l.client.Put().Namespace(l.place.Namespace).Resource("leases").Name(l.place.Name).Body(wanted).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Into(updated)
	l.refused.note("update", leases, l.place.Namespace, err)
	if err == nil {
		l.lease = updated
	}
	return err
}

// RecordEvent does nothing: who leads is of interest to the log alone.
func (*lock) RecordEvent(string) {}

// Identity returns the name of this instance.
func (l *lock) Identity() string { return l.identity }

// Describe names the Lease.
func (l *lock) Describe() string { return l.place.Namespace + "/" + l.place.Name }

// requestTimeout is how long one request may take.
const requestTimeout = 5 * time.Second
