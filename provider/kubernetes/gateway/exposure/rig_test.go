package exposure_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/exposure"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// rig is one instance, which translates as a provider does: it asks again for the Gateways whose answers have changed.
type rig struct {
	*exposure.Exposures
	t *testing.T

	mu       sync.Mutex
	gateways map[string]*gatewayv1.Gateway
	ports    map[string][]gateway.Port
	answers  map[string]gateway.Exposed
	changed  map[string]bool
}

func newRig(t *testing.T, server *apiServer, config static.KubernetesGateway) *rig {
	t.Helper()
	e, err := exposure.New(exposure.Options{
		Config: config, Clients: server, Logger: silent{}, Namespace: "sluice-system",
		Services: server.services, Pods: server.pods,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		Exposures: e, t: t, gateways: map[string]*gatewayv1.Gateway{}, ports: map[string][]gateway.Port{},
		answers: map[string]gateway.Exposed{}, changed: map[string]bool{},
	}
	e.Notify(func(name types.NamespacedName) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed[name.String()] = true
	})
	return r
}

// lead makes the instance the leader until stop is called or the test ends.
func (r *rig) lead() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx, func(string, string, string, error) {})
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// expose exposes a Gateway.
func (r *rig) expose(one *gatewayv1.Gateway, ports ...gateway.Port) {
	name := one.Namespace + "/" + one.Name
	answer := r.Expose(one, ports)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gateways[name], r.ports[name], r.answers[name] = one, ports, answer
}

// withdraw takes a Gateway away.
func (r *rig) withdraw(one *gatewayv1.Gateway) {
	name := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}
	r.Withdraw(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.answers, name.String())
	delete(r.gateways, name.String())
}

// all returns the answers for all Gateways, asked for anew where they were said to have changed.
func (r *rig) all() map[string]gateway.Exposed {
	for {
		r.mu.Lock()
		changed := r.changed
		r.changed = map[string]bool{}
		r.mu.Unlock()
		if len(changed) == 0 {
			return r.answers
		}
		for name := range changed {
			if one := r.gateways[name]; one != nil {
				r.expose(one, r.ports[name]...)
			}
		}
	}
}

// record writes the addresses of the answers to the statuses of the Gateways, as the writer of statuses does, and
// returns the Gateways as the watch has them then.
func (r *rig) record() []*gatewayv1.Gateway {
	var recorded []*gatewayv1.Gateway
	for name, answer := range r.all() {
		one := r.gateways[name].DeepCopy()
		one.Status.Addresses = answer.Addresses
		recorded = append(recorded, one)
	}
	for _, one := range recorded {
		r.expose(one, r.ports[one.Namespace+"/"+one.Name]...)
	}
	return recorded
}

// addresses returns the addresses of an answer, or the reason why it has none.
func (r *rig) addresses(one *gatewayv1.Gateway) string {
	answer := r.all()[one.Namespace+"/"+one.Name]
	var all []string
	if answer.Refusal != nil {
		all = append(all, answer.Refusal.Reason)
	}
	for _, address := range answer.Addresses {
		all = append(all, address.Value)
	}
	return strings.Join(all, " ")
}

// binding returns the address of the socket of a port, or why there is none.
func (r *rig) binding(one *gatewayv1.Gateway, port gateway.Port) string {
	binding, ok := r.all()[one.Namespace+"/"+one.Name].Bindings[port]
	switch {
	case !ok:
		return "unknown"
	case binding.Refusal != nil:
		return binding.Refusal.Reason
	}
	return binding.Address
}

var (
	web   = gateway.Port{Number: 80, Protocol: corev1.ProtocolTCP}
	https = gateway.Port{Number: 443, Protocol: corev1.ProtocolTCP}
	quic  = gateway.Port{Number: 443, Protocol: corev1.ProtocolUDP}
)

// made returns a Gateway that was created in a minute; values are the addresses that it demands.
func made(name string, minute int, values ...string) *gatewayv1.Gateway {
	one := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("uid-" + name),
		CreationTimestamp: metav1.NewTime(time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC)),
	}}
	for _, value := range values {
		one.Spec.Addresses = append(one.Spec.Addresses, gatewayv1.GatewaySpecAddress{Value: value})
	}
	return one
}

// showing returns a Gateway whose status shows an address.
func showing(one *gatewayv1.Gateway, address string) *gatewayv1.Gateway {
	one = one.DeepCopy()
	one.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: address}}
	return one
}

// config returns the options of an exposure.
func config(exposed static.GatewayExposure, pool ...string) static.KubernetesGateway {
	var options static.KubernetesGateway
	options.SetDefaults()
	options.Exposure, options.AddressPool = exposed, slices.Clone(pool)
	return options
}

// pass lets the clock go on.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}
