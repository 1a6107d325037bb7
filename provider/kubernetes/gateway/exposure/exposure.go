package exposure

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Clients are the connections to the API groups that are written to; *client.Cluster is one.
type Clients interface {
	// REST returns the client of one group and version.
	REST(version schema.GroupVersion) (rest.Interface, error)
}

// Watch is a resource as the cluster has it; *client.Watched is one.
type Watch[T any] interface {
	// All returns every object, in any order. The objects are shared and are not changed.
	All() iter.Seq[T]
	// Notify has the function called for every object that is there, and for each change from then on.
	Notify(handle func(before, after T))
}

// Options are the dependencies of an Exposures.
type Options struct {
	// Config has to be valid.
	Config static.KubernetesGateway
	// Clients and Logger are needed.
	Clients Clients
	Logger  telemetry.Logger
	// Namespace is the one that Sluice runs in.
	Namespace string
	// Services are those that this package has created (OwnServices). They are needed with the exposure service; with
	// others, nil carries no labels and annotations of Gateways.
	Services Watch[*corev1.Service]
	// Pods are those of Sluice (OwnPods), and needed with the exposures service and node.
	Pods Watch[*corev1.Pod]
	// Shown is the Service whose addresses all Gateways show (ShownService); nil when the options name none.
	Shown Watch[*corev1.Service]
}

// Exposures implements gateway.Exposure. Its methods may be called from any goroutine, Run by one at a time.
type Exposures struct {
	options  Options
	pool     []netip.Prefix
	identity string
	limit    *rate.Limiter
	wake     chan struct{}

	mu        sync.Mutex
	listeners []func(types.NamespacedName)
	requests  map[types.NamespacedName]*request
	answers   map[types.NamespacedName]gateway.Exposed
	// held says by the answers which Gateway has which port.
	held map[private]holder

	// leading says that Run runs. The rest is what the leader has decided and the cluster may not show yet: addresses,
	// ports by Service, and why the API server has refused a Service.
	leading  bool
	picked   map[types.NamespacedName]netip.Addr
	planned  map[types.NamespacedName]map[gateway.Port]int32
	rejected map[types.NamespacedName]string
	// added is when a Gateway was exposed for the first time last, waiting when the first was that waits for a decision.
	added, waiting time.Time
}

// request is a Gateway with the ports that it needs.
type request struct {
	*gatewayv1.Gateway
	name  types.NamespacedName
	ports []gateway.Port
}

// same reports whether a Gateway with its ports is the same to all exposures.
func (r *request) same(one *gatewayv1.Gateway, ports []gateway.Port) bool {
	return r.Gateway == one && slices.Equal(r.ports, ports) ||
		r.UID == one.UID && r.Generation == one.Generation && r.CreationTimestamp.Equal(&one.CreationTimestamp) &&
			slices.Equal(r.ports, ports) && reflect.DeepEqual(&r.Spec, &one.Spec) &&
			reflect.DeepEqual(&r.Status, &one.Status)
}

// New returns the exposure of the options; nothing is written before Run. It fails when an address of the pool cannot
// be read.
func New(options Options) (*Exposures, error) {
	e := &Exposures{
		options: options, identity: identity(options.Namespace, options.Config.ControllerName),
		limit:    rate.NewLimiter(rate.Limit(options.Config.QPS), options.Config.Burst),
		wake:     make(chan struct{}, 1),
		requests: map[types.NamespacedName]*request{}, answers: map[types.NamespacedName]gateway.Exposed{},
		picked: map[types.NamespacedName]netip.Addr{}, planned: map[types.NamespacedName]map[gateway.Port]int32{},
		rejected: map[types.NamespacedName]string{},
	}
	for _, text := range options.Config.AddressPool {
		prefix, err := static.PoolPrefix(text)
		if err != nil {
			return nil, err
		}
		e.pool = append(e.pool, prefix)
	}
	// Which events the answers depend on; with others, only the leader has something to write.
	update, signal := func() { e.update(nil) }, e.signal
	ofServices, ofPods := signal, signal
	switch options.Config.Exposure {
	case static.ExposeOnNode:
		ofPods = update
	case static.ExposeByPool:
	default:
		ofServices = update
	}
	if options.Services != nil {
		options.Services.Notify(func(_, _ *corev1.Service) { ofServices() })
	}
	if options.Shown != nil {
		options.Shown.Notify(func(_, _ *corev1.Service) { update() })
	}
	if options.Pods != nil {
		options.Pods.Notify(func(_, _ *corev1.Pod) { ofPods() })
	}
	return e, nil
}

// Expose implements gateway.Exposure.
func (e *Exposures) Expose(one *gatewayv1.Gateway, ports []gateway.Port) gateway.Exposed {
	name := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}
	e.mu.Lock()
	if before := e.requests[name]; before != nil && before.same(one, ports) {
		defer e.mu.Unlock()
		return e.answers[name]
	}
	e.mu.Unlock()
	e.update(func() types.NamespacedName {
		if before := e.requests[name]; before == nil || before.UID != one.UID {
			e.added = time.Now()
			if e.waiting.IsZero() {
				e.waiting = e.added
			}
		}
		e.requests[name] = &request{Gateway: one, name: name, ports: slices.Clone(ports)}
		return name
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answers[name]
}

// Withdraw implements gateway.Exposure.
func (e *Exposures) Withdraw(name types.NamespacedName) {
	e.update(func() types.NamespacedName {
		delete(e.requests, name)
		delete(e.picked, name)
		delete(e.planned, name)
		delete(e.rejected, name)
		return name
	})
}

// Notify implements gateway.Exposure.
func (e *Exposures) Notify(changed func(types.NamespacedName)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners = append(e.listeners, changed)
}

// update works all answers out anew after a change, which is nil when it was one of the cluster, and notifies of those
// that differ. The change returns the Gateway whose listener need not be told.
func (e *Exposures) update(change func() types.NamespacedName) {
	e.mu.Lock()
	var except types.NamespacedName
	if change != nil {
		except = change()
	}
	answers := e.allocate()
	var changed []types.NamespacedName
	for name, answer := range answers {
		if name != except && !reflect.DeepEqual(answer, e.answers[name]) {
			changed = append(changed, name)
		}
	}
	e.answers = answers
	e.hold(answers)
	listeners := e.listeners
	e.mu.Unlock()
	e.signal()
	slices.SortFunc(changed, compareNames)
	for _, name := range changed {
		for _, notify := range listeners {
			notify(name)
		}
	}
}

// signal wakes the leader.
func (e *Exposures) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// sorted returns the requests, the oldest Gateway first; the caller holds mu.
func (e *Exposures) sorted() []*request {
	return slices.SortedFunc(maps.Values(e.requests), func(a, b *request) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareNames(a.name, b.name))
	})
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// allocate returns the answers for all requests; the caller holds mu.
func (e *Exposures) allocate() map[types.NamespacedName]gateway.Exposed {
	answers := make(map[types.NamespacedName]gateway.Exposed, len(e.requests))
	var valid []*request
	for _, one := range e.sorted() {
		if refusal := unsupported(one.Gateway); refusal != nil {
			answers[one.name] = gateway.Exposed{Refusal: refusal}
			continue
		}
		valid = append(valid, one)
	}
	var exposed map[types.NamespacedName]gateway.Exposed
	switch e.options.Config.Exposure {
	case static.ExposeOnNode:
		exposed = e.onNode(valid)
	case static.ExposeByPool:
		exposed = e.byPool(valid)
	default:
		exposed = e.byService(valid)
	}
	maps.Copy(answers, exposed)
	return answers
}
