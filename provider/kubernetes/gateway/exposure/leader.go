package exposure

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/static"
)

const (
	// gather is how long no further Gateway must have appeared before the leader decides, and gatherMost how long the
	// first of them waits at most.
	gather, gatherMost = 100 * time.Millisecond, 2 * time.Second
	// requestTimeout bounds one request.
	requestTimeout = 5 * time.Second
	// lag is how long the watch may not show what was applied before it is applied again.
	lag = 10 * time.Second
	// refresh is how often EndpointSlices are applied again, which no watch shows.
	refresh = 10 * time.Minute
	// orphaned is how long a Service without a known Gateway stays after this instance has become the leader.
	orphaned = time.Minute
	// failurePause, refusalPause and invalidPause are the pauses after a failed request, one without permission, and one
	// whose content the API server does not accept.
	failurePause, refusalPause, invalidPause = 5 * time.Second, 30 * time.Second, time.Minute
)

// sent is what was applied to an object last.
type sent struct {
	digest string
	when   time.Time
}

// leader is the state of one call of Run, on whose goroutine it is used.
type leader struct {
	*Exposures
	ctx   context.Context
	note  election.Note
	since time.Time
	sent  map[string]sent
	// paused is until when an object is not written after a failure.
	paused map[string]time.Time
	// next is the delay until something is due again; 0 is none.
	next time.Duration
}

// Run decides for all instances, and writes Services and EndpointSlices, until ctx ends; note gets the result of each
// request.
func (e *Exposures) Run(ctx context.Context, note election.Note) {
	e.lead(true)
	defer e.lead(false)
	l := &leader{
		Exposures: e, ctx: ctx, note: note, since: time.Now(), sent: map[string]sent{}, paused: map[string]time.Time{},
	}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	due := time.Now().Add(gather)
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
			if at := time.Now().Add(gather); at.Before(due) || !due.After(time.Now()) {
				due = at
				timer.Reset(gather)
			}
		case <-timer.C:
			delay := l.step()
			due = time.Now().Add(delay)
			timer.Reset(delay)
		}
	}
}

// lead notes whether this instance leads. Decisions that are not recorded end with that.
func (e *Exposures) lead(leads bool) {
	e.mu.Lock()
	e.leading, e.waiting = leads, time.Now()
	clear(e.picked)
	clear(e.planned)
	clear(e.rejected)
	e.mu.Unlock()
	e.update(nil)
}

// step decides and writes what is due, and returns the delay until the next step.
func (l *leader) step() time.Duration {
	l.mu.Lock()
	gathers := time.Since(l.added) < gather && time.Since(l.waiting) < gatherMost
	if !gathers {
		l.waiting = time.Time{}
	}
	l.mu.Unlock()
	if gathers {
		return gather
	}
	l.next = refresh
	if l.options.Config.Exposure == static.ExposeByPool {
		l.mu.Lock()
		changed := l.pick()
		l.mu.Unlock()
		if changed {
			l.update(nil)
		}
	}
	if l.options.Services != nil {
		l.write()
	}
	return l.next
}

// later has a step made after a delay.
func (l *leader) later(delay time.Duration) { l.next = min(l.next, max(delay, time.Millisecond)) }

// write brings the Services and EndpointSlices of the cluster to what the Gateways need.
func (l *leader) write() {
	l.mu.Lock()
	requests := l.sorted()
	known := make(map[types.NamespacedName]*request, len(requests))
	valid := make([]*request, 0, len(requests))
	for _, one := range requests {
		known[one.name] = one
		if unsupported(one.Gateway) == nil {
			valid = append(valid, one)
		}
	}
	var groups, full []*group
	var planned map[types.NamespacedName]map[gateway.Port]int32
	services := l.services()
	if l.options.Config.Exposure == static.ExposeByService {
		groups = l.groups(valid)
		planned, full = l.plan(groups, services)
	} else {
		groups = l.carriers(valid)
	}
	rejected := maps.Clone(l.rejected)
	l.mu.Unlock()
	l.forget()
	refused := map[types.NamespacedName]string{}
	for _, one := range full {
		refused[one.name] = "all ports of providers.kubernetesGateway.service are in use."
	}
	wanted := make(map[types.NamespacedName]bool, len(groups))
	for _, one := range groups {
		wanted[one.service] = true
		if planned != nil && len(planned[one.name]) == 0 {
			continue
		}
		reason := l.writeGroup(one, planned[one.name], services[one.service], rejected[one.name])
		if reason != "" {
			refused[one.name] = reason
		}
	}
	for name, service := range services {
		if !wanted[name] && service.DeletionTimestamp == nil {
			l.remove(service, known)
		}
	}
	l.mu.Lock()
	changed := !maps.Equal(l.rejected, refused)
	l.rejected = refused
	l.mu.Unlock()
	if changed {
		l.update(nil)
	}
}

// writeGroup writes the Service of a group and its EndpointSlices; ports is nil for a carrier. It returns why the API
// server refuses the Service, which is rejected as long as it is not tried again.
func (l *leader) writeGroup(
	one *group, ports map[gateway.Port]int32, existing *corev1.Service, rejected string,
) (reason string) {
	if existing != nil && one.owned(map[types.NamespacedName]*corev1.Service{one.service: existing}) == nil {
		l.later(failurePause) // It belongs to an earlier Gateway of the name, and goes with that.
		return ""
	}
	service, err := l.service(one, ports, existing)
	if err != nil {
		return err.Error()
	}
	current := existing != nil && existing.Annotations[annotationApplied] == service.digest &&
		(ports == nil || string(existing.Spec.Type) == l.options.Config.Service.Type && l.records(existing, ports))
	if !current {
		err := l.apply(service, corev1.SchemeGroupVersion, "services", lag)
		switch {
		case err == nil:
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			return err.Error()
		case errors.Is(err, errPaused):
			return rejected
		}
	}
	if existing == nil || ports == nil {
		return ""
	}
	list, err := l.endpointSlices(one, existing, ports)
	if err != nil {
		return err.Error()
	}
	for _, slice := range list {
		_ = l.apply(slice, discoveryv1.SchemeGroupVersion, "endpointslices", refresh) // It is noted, and tried again.
	}
	return ""
}

// records reports whether a Service has the private ports and no others.
func (l *leader) records(service *corev1.Service, ports map[gateway.Port]int32) bool {
	if len(service.Spec.Ports) != len(ports) {
		return false
	}
	for port, number := range ports {
		if target, ok := l.target(service, port); !ok || target != number {
			return false
		}
	}
	return true
}

// remove deletes a Service that no Gateway needs. One whose Gateway is not known is deleted when the API server says
// that it is gone, or not this controller's.
func (l *leader) remove(service *corev1.Service, known map[types.NamespacedName]*request) {
	key := "services " + service.Namespace + "/" + service.Name
	if len(service.OwnerReferences) == 0 { // That of merged Gateways: after a start, none of these are known.
		if l.options.Config.MergeGateways {
			return
		}
		if wait := time.Until(l.since.Add(orphaned)); wait > 0 {
			l.later(wait)
			return
		}
	}
	if wait := time.Until(l.paused[key]); wait > 0 {
		l.later(wait)
		return
	}
	for _, owner := range service.OwnerReferences {
		name := types.NamespacedName{Namespace: service.Namespace, Name: owner.Name}
		if one := known[name]; owner.Kind != "Gateway" || one != nil && one.UID == owner.UID {
			continue
		}
		if wait := time.Until(l.since.Add(orphaned)); wait > 0 {
			l.later(wait)
			return
		}
		if foreign, err := l.foreign(name, owner.UID); err != nil || !foreign {
			l.pause(key, invalidPause)
			return
		}
	}
	client, err := l.options.Clients.REST(corev1.SchemeGroupVersion)
	if err == nil && l.limit.Wait(l.ctx) == nil {
		err = client.Delete().Namespace(service.Namespace).Resource("services").Name(service.Name).
			Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &service.UID}}).
			Timeout(requestTimeout).MaxRetries(0).Do(l.ctx).Error()
		l.note("delete", "services", service.Namespace, err)
	}
	switch {
	case apierrors.IsForbidden(err): // With mergeGateways, one of a Gateway that had its own before.
		l.pause(key, refusalPause)
		return
	case err != nil:
		l.pause(key, failurePause)
		return
	}
	l.pause(key, lag)
}

// foreign reports whether a Gateway is gone, or of a class that is not this controller's.
func (l *leader) foreign(name types.NamespacedName, uid types.UID) (bool, error) {
	var one gatewayv1.Gateway
	found, err := l.get("gateways", name, &one)
	if err != nil || !found || one.UID != uid || one.DeletionTimestamp != nil {
		return err == nil, err
	}
	var class gatewayv1.GatewayClass
	found, err = l.get("gatewayclasses", types.NamespacedName{Name: string(one.Spec.GatewayClassName)}, &class)
	if err != nil || !found {
		return err == nil, err
	}
	return string(class.Spec.ControllerName) != l.options.Config.ControllerName, nil
}

// get reads an object of the Gateway API.
func (l *leader) get(resource string, name types.NamespacedName, into any) (found bool, err error) {
	client, err := l.options.Clients.REST(schema.GroupVersion(gatewayv1.GroupVersion))
	if err != nil {
		return false, err
	}
	if err := l.limit.Wait(l.ctx); err != nil {
		return false, err
	}
	content, err := client.Get().NamespaceIfScoped(name.Namespace, name.Namespace != "").Resource(resource).
		Name(name.Name).SetHeader("Accept", "application/json").Timeout(requestTimeout).MaxRetries(0).Do(l.ctx).Raw()
	l.note("get", resource+"."+gatewayv1.GroupName, name.Namespace, err)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(content, into)
}

// errPaused says that an object is not written at this time.
var errPaused = errors.New("writing pauses")

// apply applies an object, unless the same was applied within a time.
func (l *leader) apply(object applied, version schema.GroupVersion, resource string, within time.Duration) error {
	key := resource + " " + object.name.String()
	before := l.sent[key]
	if wait := time.Until(before.when.Add(within)); before.digest == object.digest && wait > 0 {
		l.later(wait)
		return nil
	}
	if wait := time.Until(l.paused[key]); wait > 0 && before.digest == object.digest {
		l.later(wait)
		return errPaused
	}
	body, err := json.Marshal(object.object)
	if err != nil {
		return err
	}
	client, err := l.options.Clients.REST(version)
	if err != nil {
		l.later(failurePause)
		return err
	}
	if err := l.limit.Wait(l.ctx); err != nil {
		return err
	}
	err = client.Patch(types.ApplyPatchType).Namespace(object.name.Namespace).Resource(resource).Name(object.name.Name).
		Param("fieldManager", manager).Param("force", "true").Body(body).Timeout(requestTimeout).MaxRetries(0).
		Do(l.ctx).Error()
	name := resource
	if version.Group != "" {
		name += "." + version.Group
	}
	l.note("patch", name, object.name.Namespace, err)
	l.sent[key] = sent{object.digest, time.Now()}
	switch {
	case err == nil:
		l.later(within)
		return nil
	case apierrors.IsForbidden(err):
		l.pause(key, refusalPause)
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		l.pause(key, invalidPause)
	default:
		l.pause(key, failurePause)
	}
	l.sent[key] = sent{digest: object.digest}
	return err
}

// forget drops what is known of writes that were so long ago that it decides nothing any more.
func (l *leader) forget() {
	now := time.Now()
	maps.DeleteFunc(l.paused, func(_ string, until time.Time) bool { return !until.After(now) })
	maps.DeleteFunc(l.sent, func(key string, last sent) bool {
		_, paused := l.paused[key]
		return !paused && now.Sub(last.when) >= refresh
	})
}

// pause has an object left alone for some time.
func (l *leader) pause(key string, pause time.Duration) {
	l.paused[key] = time.Now().Add(pause)
	l.later(pause)
}
