package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

const (
	// compareEvery is how often all statuses are compared with the cluster's, also without a change of the active table:
	// another writer may have changed one, or a permission may have been granted.
	compareEvery = time.Minute
	// statusBurst statuses may be written at once, and one more every statusInterval.
	statusBurst    = 100
	statusInterval = 50 * time.Millisecond
	// pauseAfterConflict is the pause after writing to a version that is not the newest, which the watch is to bring.
	pauseAfterConflict = 500 * time.Millisecond
)

// reasonResolved is the reason of the condition ResolvedRefs when it is true.
const reasonResolved = "ResolvedRefs"

// status writes the status conditions of objects. It belongs to the goroutine of its run.
type status struct {
	options     Options
	permissions *permissionErrors

	last   provider.State
	judged judgements
	// queue has the uids of the objects whose status may have to be written, in order.
	queue []string
	limit *rate.Limiter
	// pausedUntil is when writing goes on after a failure, resourcePausedUntil that of one resource in a namespace after a
	// refusal, since permissions are granted for those.
	pausedUntil         time.Time
	resourcePausedUntil map[namespacedResource]time.Time
	// lacking are the resources whose definition has no status, each with the time to ask again.
	lacking map[string]time.Time
}

// namespacedResource is a resource in a namespace.
type namespacedResource struct{ resource, namespace string }

func newStatus(options Options, permissions *permissionErrors) *status {
	return &status{
		options: options, permissions: permissions,
		limit: rate.NewLimiter(rate.Every(statusInterval), statusBurst),
	}
}

// run writes until ctx ends.
func (s *status) run(ctx context.Context) {
	s.last, s.judged, s.queue = provider.State{}, newJudgements(), nil
	s.pausedUntil, s.resourcePausedUntil = time.Time{}, map[namespacedResource]time.Time{}
	s.lacking = map[string]time.Time{}
	compare := time.NewTicker(compareEvery)
	defer compare.Stop()
	timer := newAlarm()
	defer timer.Stop()
	timer.within(0)
	var changed <-chan struct{}
	all := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = nil
			timer.within(gather)
		case <-compare.C:
			all = true
			timer.within(0)
		case <-timer.C:
			timer.fired()
			state := s.options.State()
			changed = state.Changed
			if state.Settled && (all || !same(state, s.last)) {
				s.enqueue(state, all)
				all = false
			}
			if delay := s.write(ctx); delay > 0 {
				timer.within(delay)
			}
		}
	}
}

// enqueue takes a settled state and enqueues the objects whose status may differ; all enqueues every object.
func (s *status) enqueue(state provider.State, all bool) {
	changed := s.judged.update(s.last, state)
	s.last = state
	if all {
		changed = maps.Keys(s.judged.all)
	}
	queued := make(map[string]bool, len(s.queue))
	for _, uid := range s.queue {
		queued[uid] = true
	}
	var due []*dynamic.Resource
	for uid := range changed {
		if !queued[uid] {
			due = append(due, &s.judged.all[uid].resource)
		}
	}
	slices.SortFunc(due, compareResources)
	for _, resource := range due {
		s.queue = append(s.queue, resource.UID)
	}
}

// same reports whether two states are the same. Their parts are immutable and compared by pointer.
func same(a, b provider.State) bool {
	return a.Settled == b.Settled && sameVerdicts(a, b) && maps.Equal(a.Included, b.Included)
}

// sameVerdicts reports whether two states have the same list of verdicts.
func sameVerdicts(a, b provider.State) bool {
	return len(a.Verdicts) == len(b.Verdicts) && (len(a.Verdicts) == 0 || &a.Verdicts[0] == &b.Verdicts[0])
}

// write writes the statuses that differ as fast as the limits allow. It returns the delay until more may be written; 0
// means that the queue is empty.
func (s *status) write(ctx context.Context) (delay time.Duration) {
	var later []string
	defer func() { s.queue = append(s.queue, later...) }()
	for len(s.queue) > 0 && ctx.Err() == nil {
		now := time.Now()
		if paused := s.pausedUntil.Sub(now); paused > 0 {
			return paused
		}
		if full := tokenDelay(s.limit, now); full > 0 {
			return full
		}
		uid := s.queue[0]
		s.queue = s.queue[1:]
		one, known := s.judged.all[uid]
		if !known {
			continue
		}
		err := s.writeOne(ctx, one, now)
		switch {
		case err == nil || permanent(err) || apierrors.IsForbidden(err):
		case apierrors.IsConflict(err):
			later, delay = append(later, uid), pauseAfterConflict
		default:
			later = append(later, uid)
			s.pausedUntil = now.Add(pauseAfterFailure)
			delay = earlier(delay, pauseAfterFailure)
		}
	}
	return delay
}

// writeOne writes the status of one object if it differs.
func (s *status) writeOne(ctx context.Context, wanted *judgement, now time.Time) error {
	resource := wanted.resource
	kind, known := statusKindOf(&resource)
	at := namespacedResource{kind.resource, resource.Namespace}
	if !known || now.Before(s.resourcePausedUntil[at]) {
		return nil
	}
	object, found := s.options.Objects.Object(resource.Kind, resource.Namespace, resource.Name)
	if !found || string(object.GetUID()) != resource.UID {
		return nil
	}
	before := statusOf(object)
	if before == nil || before.ObservedGeneration > resource.Generation {
		return nil
	}
	after, changed := wanted.apply(before, kind, metav1.NewTime(now))
	if !changed || s.lacksStatus(ctx, kind, now) {
		return nil
	}
	s.limit.AllowN(now, 1)
	err := s.patch(ctx, kind, object, after)
	s.permissions.note("patch", at.resource+"/status."+kind.version.Group, at.namespace, err)
	switch {
	case apierrors.IsForbidden(err):
		s.resourcePausedUntil[at] = now.Add(pauseAfterRefusal)
	case apierrors.IsNotFound(err):
		s.notFound(ctx, kind, now)
	}
	return err
}

// patch writes a status over the version of an object that is known.
func (s *status) patch(ctx context.Context, kind statusKind, object metav1.Object, after v1alpha1.Status) error {
	client, err := s.options.Clients.REST(kind.version)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()},
		"status":   after,
	})
	if err != nil {
		return fmt.Errorf("status of %s %s/%s: %w", kind.resource, object.GetNamespace(), object.GetName(), err)
	}
	return client.Patch(types.MergePatchType).Namespace(object.GetNamespace()).Resource(kind.resource).
		Name(object.GetName()).SubResource("status").Body(body).Timeout(requestTimeout).MaxRetries(0).Do(ctx).Error()
}

func compareResources(a, b *dynamic.Resource) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.UID, b.UID),
	)
}
