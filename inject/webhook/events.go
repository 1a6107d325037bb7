package webhook

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/telemetry"
)

// The reasons of Events.
const (
	reasonInjected = "Injected"
	reasonSkipped  = "InjectionSkipped"
)

const (
	// component is the source of Events.
	component = "sluice-injector"
	// eventBurst Events may be recorded at once, and eventRate more each second. What exceeds it is dropped and counted.
	eventBurst = 100
	eventRate  = 20
	// eventTimeout is the time limit of one request.
	eventTimeout = 5 * time.Second
)

// Clients are the connections to the groups of the API; *client.Cluster is one.
type Clients interface {
	// REST returns the client of one group and version.
	REST(version schema.GroupVersion) (rest.Interface, error)
}

// DropMeter counts Events that were not recorded because there were too many; *metrics.Injector does.
type DropMeter interface {
	DropEvent()
}

// Decision is what was decided about a pod.
type Decision struct {
	// Pod is the pod's metadata as it was reviewed; a generated name is not known yet.
	Pod       metav1.ObjectMeta
	Injected  bool
	Reason    inject.Reason
	Templates []string
}

// Events records decisions as Events: at the controller of the pod, or at the pod itself when it has a name and no
// controller. Equal Events are counted on one object, and similar ones are aggregated.
type Events struct {
	client   rest.Interface
	limit    *rate.Limiter
	meter    DropMeter
	logger   telemetry.Logger
	recorder atomic.Pointer[record.EventRecorderLogger]
}

// NewEvents returns what records while it runs.
func NewEvents(clients Clients, meter DropMeter, logger telemetry.Logger) (*Events, error) {
	core, err := clients.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &Events{client: core, limit: rate.NewLimiter(eventRate, eventBurst), meter: meter, logger: logger}, nil
}

// Run writes Events until ctx ends.
func (e *Events) Run(ctx context.Context) {
	// Failed requests are logged by the sink, once each; the library would log every one of them.
	broadcaster := record.NewBroadcaster(record.WithContext(klog.NewContext(ctx, logr.Discard())))
	broadcaster.StartRecordingToSink(&eventSink{ctx: ctx, client: e.client, logger: e.logger})
	recorder := broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})
	e.recorder.Store(&recorder)
	<-ctx.Done()
	e.recorder.Store(nil)
	broadcaster.Shutdown()
}

// Record queues an Event.
func (e *Events) Record(decision Decision) {
	about, recorder := involved(&decision.Pod), e.recorder.Load()
	if about == nil || recorder == nil {
		return
	}
	if !e.limit.Allow() {
		e.meter.DropEvent()
		return
	}
	reason, message := reasonSkipped, decision.Reason.Text
	if message == "" {
		message = string(decision.Reason.Code)
	}
	if decision.Injected {
		reason = reasonInjected
		if len(decision.Templates) > 0 {
			message = "injected " + strings.Join(decision.Templates, ", ") + ": " + message
		}
	}
	(*recorder).Event(about, corev1.EventTypeNormal, reason, message)
}

// involved returns the object of an Event about a pod; nil when there is none that has a name.
func involved(pod *metav1.ObjectMeta) *corev1.ObjectReference {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return &corev1.ObjectReference{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name, UID: owner.UID,
		}
	}
	if pod.Name == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
}

// eventSink writes Events with a time limit for each request.
type eventSink struct {
	ctx    context.Context //nolint:containedctx // The interface of the library passes none.
	client rest.Interface
	logger telemetry.Logger

	mu     sync.Mutex
	failed bool
}

// Create creates an Event.
func (s *eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	return s.do(s.client.Post().Namespace(event.Namespace).Resource("events").Body(event))
}

// Update replaces an Event; the recorder does not use it.
func (s *eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.do(s.client.Put().Namespace(event.Namespace).Resource("events").Name(event.Name).Body(event))
}

// Patch changes an Event that exists.
func (s *eventSink) Patch(event *corev1.Event, change []byte) (*corev1.Event, error) {
	return s.do(s.client.Patch(types.StrategicMergePatchType).Namespace(event.Namespace).Resource("events").
		Name(event.Name).Body(change))
}

func (s *eventSink) do(request *rest.Request) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, eventTimeout)
	defer cancel()
	written := &corev1.Event{}
	err := request.MaxRetries(0).Do(ctx).Into(written)
	s.mu.Lock()
	defer s.mu.Unlock()
	// An Event that is gone is created again, and a namespace that is being deleted takes none.
	lost := apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if failed := err != nil && !lost; failed != s.failed && s.ctx.Err() == nil {
		s.failed = failed
		if failed {
			s.logger.Warn("Events about injection are not written", "error", err)
		} else {
			s.logger.Info("Events about injection are written again")
		}
	}
	return written, err
}
