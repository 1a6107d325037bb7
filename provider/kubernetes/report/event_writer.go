package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/dynamic"
)

// component is the name of Sluice in Events.
const component = "sluice"

// eventsResource is the resource of Events, as URLs and RBAC rules name it.
const eventsResource = "events"

// event is the content of an Event.
type event struct {
	resource dynamic.Resource
	// code is the Event's reason, message what kubectl describe shows beside it.
	code    dynamic.Code
	message string
}

// newEvent returns the Event for a summary. The generation is left out, so that a new version of the object with the
// same fault has the same Event.
func newEvent(resource *dynamic.Resource, total summary) event {
	made := event{resource: *resource, code: total.code, message: total.status.String() + ": " + total.message}
	if total.status == dynamic.Accepted {
		made.message = "everything that it declares is in use"
	}
	made.resource.Generation = 0
	return made
}

// accepts reports whether the Event is about an accepted object.
func (e event) accepts() bool { return e.code == dynamic.CodeAccepted }

// name returns the name of the Event. It depends on the content alone, so that a repetition, also by another instance,
// is counted on the Event that exists.
func (e event) name() string {
	sum := sha256.Sum256([]byte(e.resource.UID + "\n" + string(e.code) + "\n" + e.message))
	const most = 200 // The names of objects and of Events have at most 253 bytes.
	return strings.TrimRight(e.resource.Name[:min(most, len(e.resource.Name))], "-.") + "." + hex.EncodeToString(sum[:8])
}

// encode returns the Event as the API has it.
func (e event) encode(identity string, now time.Time) *corev1.Event {
	about := e.resource
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	kind := corev1.EventTypeWarning
	if e.accepts() {
		kind = corev1.EventTypeNormal
	}
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: e.name()},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name,
			UID: types.UID(about.UID),
		},
		Type: kind, Reason: string(e.code), Message: e.message,
		Source:         corev1.EventSource{Component: component},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1,
		ReportingController: component, ReportingInstance: identity,
	}
}

// eventWriter writes Events of the core API, which kubectl describe shows with the object that they are about.
type eventWriter struct {
	clients     Clients
	permissions *permissionErrors
	identity    string
}

// write creates an Event, or increases its count when it exists.
func (w *eventWriter) write(ctx context.Context, content event) error {
	client, err := w.clients.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	event := content.encode(w.identity, time.Now())
	err = client.Post().Namespace(event.Namespace).Resource(eventsResource).Body(event).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Error()
	w.permissions.note("create", eventsResource, event.Namespace, err)
	if apierrors.IsAlreadyExists(err) {
		return w.repeat(ctx, client, event)
	}
	return err
}

// repeat increases the count of an Event that exists. An empty patch changes nothing and is answered with the Event, so
// that no permission to read Events is needed.
func (w *eventWriter) repeat(ctx context.Context, client rest.Interface, event *corev1.Event) error {
	known, err := w.patch(ctx, client, event, map[string]any{})
	if err != nil {
		return err
	}
	_, err = w.patch(ctx, client, event, map[string]any{
		"metadata":      map[string]any{"resourceVersion": known.ResourceVersion},
		"count":         known.Count + 1,
		"lastTimestamp": event.LastTimestamp,
	})
	return err
}

func (w *eventWriter) patch(ctx context.Context, client rest.Interface, event *corev1.Event, change any) (*corev1.Event,
	error,
) {
	body, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("event %s/%s: %w", event.Namespace, event.Name, err)
	}
	changed := &corev1.Event{}
	err = client.Patch(types.MergePatchType).Namespace(event.Namespace).Resource(eventsResource).Name(event.Name).
		Body(body).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Into(changed)
	w.permissions.note("patch", eventsResource, event.Namespace, err)
	return changed, err
}
