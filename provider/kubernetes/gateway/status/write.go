package status

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 5 * time.Second
	// attempts is how often a status is worked into the live object in a row while others change it.
	attempts = 4
	// conflictPause, failurePause and refusalPause are the pauses after too many conflicts, after another failure, which
	// doubles up to longestFailure, and after a missing permission.
	conflictPause                = time.Second
	failurePause, longestFailure = 2 * time.Second, time.Minute
	refusalPause                 = 30 * time.Second
	// invalidPause is the pause after the API server has found a status invalid, unless it changes.
	invalidPause = 10 * time.Minute
)

// resource returns the resource of a kind as URLs and RBAC rules name it.
func resource(kind Kind) string {
	switch kind {
	case GatewayClass:
		return "gatewayclasses"
	case Gateway:
		return "gateways"
	case ListenerSet:
		return "listenersets"
	case HTTPRoute:
		return "httproutes"
	case GRPCRoute:
		return "grpcroutes"
	case TLSRoute:
		return "tlsroutes"
	case TCPRoute:
		return "tcproutes"
	case UDPRoute:
		return "udproutes"
	default:
		return "backendtlspolicies"
	}
}

// outcome is how a write has ended.
type outcome struct {
	// wrote says that the API server has taken the status, over is the version that the watch had before, and version the
	// one that this has made; complete says that nothing is left to do.
	wrote, complete bool
	over, version   string
	// later is when the object is looked at again; the zero value means after its next change.
	later time.Time
	err   error
}

// job is the write of one object's status.
type job struct {
	*Writer
	ctx     context.Context
	note    election.Note
	desired *Desired
	client  rest.Interface
}

// write writes the status of one object, if it differs.
func (w *Writer) write(ctx context.Context, note election.Note, one *object, desired *Desired) outcome {
	live, apiVersion, found := w.options.Objects.Object(desired.Key)
	if !found || live.GetUID() != desired.UID {
		return outcome{complete: true}
	}
	known := live.GetResourceVersion()
	w.mu.Lock()
	over, version, complete, restore := one.over, one.version, one.complete, one.restore()
	until := w.refused[[2]string{resource(desired.Kind), desired.Namespace}]
	w.mu.Unlock()
	if complete && (over == known || version == known) {
		return outcome{complete: true} // The watch shows what was written, or does not show it yet.
	}
	content, err := json.Marshal(live)
	if err != nil {
		return outcome{complete: true, err: err}
	}
	merged, err := Merge(content, desired, w.options.Controller, time.Now())
	if err != nil || merged.Stale || merged.Patch == nil && w.finalized(desired, live.GetFinalizers()) {
		return outcome{complete: true, err: err}
	}
	switch now := time.Now(); {
	case complete && now.Before(restore):
		return outcome{complete: true, later: restore}
	case now.Before(until):
		return outcome{later: until}
	}
	client, err := w.options.Clients.REST(schema.GroupVersion{Group: gatewayv1.GroupName, Version: apiVersion})
	if err != nil {
		return outcome{err: err}
	}
	j := &job{Writer: w, ctx: ctx, note: note, desired: desired, client: client}
	result := outcome{over: known}
	var base []byte
	if !merged.Foreign && !complete && over != known && merged.Patch != nil {
		result.wrote = true
		base, err = j.patch(merged.Patch, known)
	}
	if !result.wrote || apierrors.IsConflict(err) {
		base, result.wrote, err = j.merge()
	}
	if err == nil && result.wrote {
		result.version, err = versionOf(base)
	}
	if err == nil && desired.Kind == GatewayClass && base != nil {
		err = j.finalizer(base)
	}
	result.complete, result.err = err == nil, err
	return result
}

// merge works the status into the live object until no other writer comes in between. It returns the object as it is
// then; nil when it is gone or another one.
func (j *job) merge() (object []byte, wrote bool, err error) {
	for range attempts {
		live, err := j.get()
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		merged, err := Merge(live, j.desired, j.options.Controller, time.Now())
		if err != nil || merged.Stale {
			return nil, false, err
		}
		if merged.Dropped > 0 {
			j.options.Logger.Warn("the status of an object has no room for all entries of this controller",
				"kind", j.desired.Kind, "object", j.desired.NamespacedName.String(), "missing", merged.Dropped)
		}
		if merged.Patch == nil {
			return live, false, nil
		}
		version, err := versionOf(live)
		if err != nil {
			return nil, false, err
		}
		object, err = j.patch(merged.Patch, version)
		if !apierrors.IsConflict(err) {
			return object, true, err
		}
	}
	return nil, false, apierrors.NewConflict(
		schema.GroupResource{Group: gatewayv1.GroupName, Resource: resource(j.desired.Kind)}, j.desired.Name, nil)
}

// versionOf returns the resourceVersion of an object.
func versionOf(object []byte) (string, error) {
	var content struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(object, &content)
	return content.Metadata.ResourceVersion, err
}

// get reads the live object.
func (j *job) get() ([]byte, error) {
	j.limit.ReserveN(time.Now(), 1)
	name := resource(j.desired.Kind)
	content, err := j.client.Get().NamespaceIfScoped(j.desired.Namespace, j.desired.Namespace != "").Resource(name).
		Name(j.desired.Name).SetHeader("Accept", "application/json").Timeout(requestTimeout).MaxRetries(0).Do(j.ctx).Raw()
	j.note("get", name+"."+gatewayv1.GroupName, j.desired.Namespace, err)
	return content, err
}

// patch writes a status over a version of the object, and returns the object as it is then.
func (j *job) patch(status json.RawMessage, version string) ([]byte, error) {
	return j.send(map[string]any{
		"metadata": map[string]any{"resourceVersion": version}, "status": status,
	}, "status")
}

// send sends a merge patch, to a subresource unless its name is empty.
func (j *job) send(content map[string]any, subresource string) ([]byte, error) {
	body, err := encode(content)
	if err != nil {
		return nil, err
	}
	j.limit.ReserveN(time.Now(), 1)
	name := resource(j.desired.Kind)
	request := j.client.Patch(types.MergePatchType).Resource(name).Name(j.desired.Name).
		NamespaceIfScoped(j.desired.Namespace, j.desired.Namespace != "").Timeout(requestTimeout).MaxRetries(0).
		SetHeader("Accept", "application/json").Body([]byte(body))
	if subresource != "" {
		request, name = request.SubResource(subresource), name+"/"+subresource
	}
	object, err := request.Do(j.ctx).Raw()
	j.note("patch", name+"."+gatewayv1.GroupName, j.desired.Namespace, err)
	return object, err
}

// finalized reports whether a GatewayClass has the finalizer if and only if Gateways use it.
func (w *Writer) finalized(desired *Desired, finalizers []string) bool {
	return desired.Kind != GatewayClass ||
		slices.Contains(finalizers, gatewayv1.GatewayClassFinalizerGatewaysExist) == desired.InUse
}

// finalizer adds the finalizer to a GatewayClass that Gateways use, and removes it from others.
func (j *job) finalizer(live []byte) error {
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(live, &meta); err != nil {
		return err
	}
	if j.finalized(j.desired, meta.Finalizers) {
		return nil
	}
	finalizers := slices.DeleteFunc(meta.Finalizers, func(one string) bool {
		return one == gatewayv1.GatewayClassFinalizerGatewaysExist
	})
	if j.desired.InUse {
		finalizers = append(finalizers, gatewayv1.GatewayClassFinalizerGatewaysExist)
	}
	_, err := j.send(map[string]any{"metadata": map[string]any{
		"resourceVersion": meta.ResourceVersion, "finalizers": slices.Concat([]string{}, finalizers),
	}}, "")
	return err
}

// finish notes how a write has ended, and when the object is looked at again.
func (w *Writer) finish(one *object, desired *Desired, result outcome) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.notify()
	w.busy--
	one.busy = false
	current := one.desired == desired
	if result.wrote && result.err == nil {
		if one.complete && current {
			if now.Sub(one.wrote) > settled {
				one.restores = 0
			}
			one.restores++
			if one.restores == manyRestores {
				w.options.Logger.Warn("another controller changes what this one writes to the status of an object;"+
					" it is restored less and less often", "kind", desired.Kind, "object", desired.NamespacedName.String())
			}
		}
		one.over, one.version, one.wrote = result.over, result.version, now
		one.writes++
	}
	one.complete = result.complete && current
	if one.gone || !w.active {
		return
	}
	switch {
	case !current:
		w.schedule(one, one.ready())
	case result.err != nil && result.complete:
		w.options.Logger.Warn("the status of an object is not written", "kind", desired.Kind,
			"object", desired.NamespacedName.String(), "error", result.err)
	case result.err != nil:
		w.schedule(one, now.Add(w.failed(one, desired, result.err)))
	case !result.later.IsZero():
		w.schedule(one, result.later)
	case one.again:
		w.schedule(one, now.Add(gather))
	}
}

// failed returns the pause after a failure; the caller holds mu.
func (w *Writer) failed(one *object, desired *Desired, err error) time.Duration {
	one.failures++
	switch {
	case apierrors.IsForbidden(err):
		w.refused[[2]string{resource(desired.Kind), desired.Namespace}] = time.Now().Add(refusalPause)
		return refusalPause
	case apierrors.IsConflict(err):
		return conflictPause
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return invalidPause
	}
	return doubled(failurePause, one.failures-1, longestFailure)
}
