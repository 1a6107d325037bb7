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

// news is what an Event says about an object.
type news struct {
	resource dynamic.Resource
	// reason is one word, message what kubectl describe shows beside it.
	reason  string
	message string
}

// name returns the name of the Event. The same news have the same name, whoever tells them, so that a repetition is
// counted on the Event that is there.
func (n news) name() string {
	sum := sha256.Sum256([]byte(n.resource.UID + "\n" + n.reason + "\n" + n.message))
	const most = 200 // An object's name has up to 253 bytes, and so has that of an Event.
	return strings.TrimRight(n.resource.Name[:min(most, len(n.resource.Name))], "-.") + "." + hex.EncodeToString(sum[:8])
}

// eventWriter writes Events of the core API, which kubectl describe shows with the object that they are about.
type eventWriter struct {
	clients  Clients
	refused  *refusals
	identity string
}

// write creates the Event, or counts it once more when it is there.
func (w *eventWriter) write(ctx context.Context, told news) error {
	client, err := w.clients.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	event := w.event(told, time.Now())
	err = client.Post().Namespace(event.Namespace).Resource(eventsResource).Body(event).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Error()
	w.refused.note("create", eventsResource, event.Namespace, err)
	if apierrors.IsAlreadyExists(err) {
		return w.repeat(ctx, client, event)
	}
	return err
}

// repeat counts an Event that is there once more. Patching answers with the count, so that reading it takes no right of
// its own: an empty patch changes nothing.
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

func (w *eventWriter) patch(ctx context.Context, client rest.Interface, event *corev1.Event, change any) (*corev1.Event, error) {
	body, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("event %s/%s: %w", event.Namespace, event.Name, err)
	}
	changed := &corev1.Event{}
	err = client.Patch(types.MergePatchType).Namespace(event.Namespace).Resource(eventsResource).Name(event.Name).Body(body).
		Timeout(requestTimeout).MaxRetries(0).Do(ctx).Into(changed)
	w.refused.note("patch", eventsResource, event.Namespace, err)
	return changed, err
}

// event returns the Event that tells the news.
func (w *eventWriter) event(told news, now time.Time) *corev1.Event {
	about := told.resource
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	kind := corev1.EventTypeWarning
	if told.reason == reasonAccepted {
		kind = corev1.EventTypeNormal
	}
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: told.name()},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name,
			UID: types.UID(about.UID),
		},
		Type: kind, Reason: told.reason, Message: told.message,
		Source:         corev1.EventSource{Component: component},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1,
		ReportingController: component, ReportingInstance: w.identity,
	}
}
