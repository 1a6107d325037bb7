package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// ReplicaLabel is on the Lease of each replica; its value is the name of the Service.
	ReplicaLabel = "inject.sluice.dev/replica-of"
	// leaseDuration is how long a replica counts that no longer renews its Lease, renewInterval how often it does.
	leaseDuration = time.Minute
	renewInterval = 15 * time.Second
	// staleAfter is how long after its end the Lease of a replica that has crashed is removed.
	staleAfter = time.Hour
	// leases is the resource of Leases.
	leases = "leases"
)

// Replicas counts the replicas of the injector: each keeps a Lease of its own, which it removes when it stops. A Lease
// works for replicas outside the cluster, too, and unlike an EndpointSlice it does not change while a replica is slow.
type Replicas struct {
	client        rest.Interface
	namespace, of string
	name          string
	cleaned       bool
}

// NewReplicas returns the replicas of a Service. The client is that of coordination.k8s.io/v1, the identity that of
// this process (see Identity). Its methods are called one after the other.
func NewReplicas(client rest.Interface, service Service, identity string) *Replicas {
	return &Replicas{
		client: client, namespace: service.Namespace, of: service.Name, name: service.Name + "-" + identity,
	}
}

// Renew creates or renews the Lease of this replica.
func (r *Replicas) Renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, seconds := metav1.NowMicro(), int32(leaseDuration/time.Second)
	labels := map[string]string{ReplicaLabel: r.of}
	spec := coordinationv1.LeaseSpec{HolderIdentity: &r.name, RenewTime: &now, LeaseDurationSeconds: &seconds}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec})
	if err != nil {
		return err
	}
	err = r.client.Patch(types.MergePatchType).Namespace(r.namespace).Resource(leases).Name(r.name).Body(patch).
		MaxRetries(0).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		err = r.client.Post().Namespace(r.namespace).Resource(leases).Body(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name, Labels: labels}, Spec: spec,
		}).MaxRetries(0).Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", r.namespace, r.name, err)
	}
	if !r.cleaned {
		r.cleaned = true
		r.clean(ctx)
	}
	return nil
}

// Remove removes the Lease of this replica.
func (r *Replicas) Remove(ctx context.Context) error {
	err := r.remove(ctx, r.name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("lease %s/%s: %w", r.namespace, r.name, err)
	}
	return nil
}

func (r *Replicas) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return r.client.Delete().Namespace(r.namespace).Resource(leases).Name(name).MaxRetries(0).Do(ctx).Error()
}

// Others returns the number of other replicas that have renewed their Lease in time. One that has crashed counts until
// its Lease ends, a minute after it was renewed.
func (r *Replicas) Others(ctx context.Context) (int, error) {
	all, err := r.list(ctx)
	if err != nil {
		return 0, err
	}
	count := 0
	for i := range all {
		if all[i].Name != r.name && time.Now().Before(end(&all[i])) {
			count++
		}
	}
	return count, nil
}

// clean removes the Leases of replicas that have crashed long ago. What fails is left for the next replica.
func (r *Replicas) clean(ctx context.Context) {
	all, err := r.list(ctx)
	if err != nil {
		return
	}
	for i := range all {
		if time.Now().After(end(&all[i]).Add(staleAfter)) {
			_ = r.remove(ctx, all[i].Name)
		}
	}
}

func (r *Replicas) list(ctx context.Context) ([]coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list := &coordinationv1.LeaseList{}
	err := r.client.Get().Namespace(r.namespace).Resource(leases).
		VersionedParams(&metav1.ListOptions{LabelSelector: ReplicaLabel + "=" + r.of}, metav1.ParameterCodec).
		MaxRetries(0).Do(ctx).Into(list)
	if err != nil {
		return nil, fmt.Errorf("leases in namespace %s: %w", r.namespace, err)
	}
	return list.Items, nil
}

// end returns when a Lease ends that is not renewed.
func end(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return lease.CreationTimestamp.Time
	}
	return lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
}
