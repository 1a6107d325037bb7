package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

const (
	// lookEvery is how often the active table is looked at.
	lookEvery = 500 * time.Millisecond
	// compareEvery is how often every status is compared with what it is to be, also when nothing of ours has changed:
	// somebody else may have written it, or a right may have been granted.
	compareEvery = time.Minute
	// statusBurst statuses may be written at once, and one more every statusInterval.
	statusBurst    = 100
	statusInterval = 50 * time.Millisecond
)

// status keeps the status conditions of the objects of sluice.dev as the active table has them. It belongs to the
// goroutine of its run, except for wake.
type status struct {
	options Options
	refused *refusals
	woken   chan struct{}

	last     View
	compared time.Time
	judged   map[string]judgement
	// due are the uids of the objects whose status may have to be written, in order.
	due    []string
	limit  bucket
	paused time.Time
	// until says until when no status of a resource in a namespace is written, because it was refused.
	until map[place]time.Time
}

// place is a resource in a namespace, which is what rights are granted for.
type place struct{ resource, namespace string }

func newStatus(options Options, refused *refusals) *status {
	return &status{
		options: options, refused: refused, woken: make(chan struct{}, 1),
		limit: bucket{size: statusBurst, interval: statusInterval},
	}
}

// wake has the active table looked at soon.
func (s *status) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// run writes until ctx ends.
func (s *status) run(ctx context.Context) {
	s.last, s.compared, s.judged, s.due = View{}, time.Time{}, nil, nil
	s.paused, s.until = time.Time{}, map[place]time.Time{}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	timer := newAlarm()
	defer timer.Stop()
	timer.within(0)
	news := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.woken:
			// Whoever woke us is about to show what has changed.
			news = true
			timer.within(gather)
			continue
		case <-look.C:
			news = true
		case <-timer.C:
			timer.rang()
		}
		if news {
			s.look(time.Now())
			news = false
		}
		if wait := s.write(ctx); wait > 0 {
			timer.within(wait)
		}
	}
}

// look takes the active table, if it is settled and another one than before, and notes which statuses may differ.
func (s *status) look(now time.Time) {
	view := s.options.View()
	all := now.Sub(s.compared) >= compareEvery
	if !view.Settled || !all && same(view, s.last) {
		return
	}
	judged := judge(view)
	var due []*dynamic.Resource
	waiting := make(map[string]bool, len(s.due))
	for _, uid := range s.due {
		waiting[uid] = true
	}
	for uid, one := range judged {
		if before, known := s.judged[uid]; !waiting[uid] && (all || !known || before != one) {
			due = append(due, &one.resource)
		}
	}
	slices.SortFunc(due, compareResources)
	for _, resource := range due {
		s.due = append(s.due, resource.UID)
	}
	s.last, s.judged = view, judged
	if all {
		s.compared = now
	}
}

// same reports whether two views show the same state; what they are made of is compared by pointer.
func same(a, b View) bool {
	if a.Settled != b.Settled || len(a.Verdicts) != len(b.Verdicts) {
		return false
	}
	if len(a.Verdicts) > 0 && &a.Verdicts[0] != &b.Verdicts[0] {
		return false
	}
	return slices.Equal(a.Configurations, b.Configurations)
}

// write writes the statuses that differ, as fast as it may, and returns when to go on; 0 means with the next look.
func (s *status) write(ctx context.Context) time.Duration {
	var later []string
	defer func() { s.due = append(s.due, later...) }()
	for len(s.due) > 0 && ctx.Err() == nil {
		now := time.Now()
		if wait := s.paused.Sub(now); wait > 0 {
			return wait
		}
		if wait := s.limit.wait(now); wait > 0 {
			return wait
		}
		uid := s.due[0]
		s.due = s.due[1:]
		err := s.writeOne(ctx, s.judged[uid], now)
		switch {
		case err == nil || hopeless(err) || apierrors.IsForbidden(err):
		case apierrors.IsConflict(err):
			later = append(later, uid) // The watch is about to bring the object that was in the way.
		default:
			later = append(later, uid)
			s.paused = now.Add(pauseAfterFailure)
		}
	}
	return 0
}

// writeOne writes the status of one object if it differs.
func (s *status) writeOne(ctx context.Context, wanted judgement, now time.Time) error {
	resource := wanted.resource
	at := place{pluralOf(resource.Kind), resource.Namespace}
	if at.resource == "" || now.Before(s.until[at]) {
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
	after, changed := wanted.apply(before, metav1.NewTime(now))
	if !changed {
		return nil
	}
	s.limit.take()
	err := s.patch(ctx, at, resource.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()},
		"status":   after,
	})
	if apierrors.IsForbidden(err) {
		s.until[at] = now.Add(pauseAfterRefusal)
	}
	return err
}

func (s *status) patch(ctx context.Context, at place, name string, change any) error {
	version := v1alpha1.GroupVersion(v1alpha1.GroupSluice)
	client, err := s.options.Clients.REST(version)
	if err != nil {
		return err
	}
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("status of %s %s/%s: %w", at.resource, at.namespace, name, err)
	}
	err = client.Patch(types.MergePatchType).Namespace(at.namespace).Resource(at.resource).Name(name).
		SubResource("status").Body(body).Timeout(requestTimeout).MaxRetries(0).Do(ctx).Error()
	s.refused.note("patch", at.resource+"/status."+version.Group, at.namespace, err)
	return err
}
