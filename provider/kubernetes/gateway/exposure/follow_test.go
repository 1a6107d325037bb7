package exposure_test

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/exposure"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

var gateways = schema.GroupVersion(gatewayv1.GroupVersion).WithResource("gateways")

// instance is the provider with its exposure, reading a small API server.
type instance struct {
	t         *testing.T
	exposures *exposure.Exposures
	messages  chan dynamic.Message
}

func newInstance(t *testing.T, server *clienttest.Server, config static.KubernetesGateway) *instance {
	t.Helper()
	cluster, err := client.Connect(client.Options{Endpoint: server.URL()}, "kubernetes", telemetry.Discard{},
		client.AddGatewayToScheme)
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{t: t, messages: make(chan dynamic.Message)}
	i.exposures, err = exposure.New(exposure.Options{
		Config: config, Clients: cluster, Logger: telemetry.Discard{}, Namespace: "sluice-system",
	})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := gateway.New(cluster, config, i.exposures, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	i.start(func(ctx context.Context) { _ = cluster.Run(ctx) })
	i.start(func(ctx context.Context) { _ = provider.Provide(ctx, i.messages) })
	return i
}

// start runs something until stop is called or the test ends.
func (i *instance) start(run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	stop = func() { cancel(); <-done }
	i.t.Cleanup(stop)
	return stop
}

// lead makes the instance the leader.
func (i *instance) lead() (stop func()) {
	return i.start(func(ctx context.Context) { i.exposures.Run(ctx, func(string, string, string, error) {}) })
}

// await waits until a configuration has listeners with these addresses and no others.
func (i *instance) await(what string, addresses ...string) {
	i.t.Helper()
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	for {
		select {
		case message := <-i.messages:
			var bound []string
			if message.Configuration != nil && message.Configuration.Listeners != nil {
				for _, one := range message.Configuration.Listeners.Listeners.All() {
					bound = append(bound, one.Address)
				}
			}
			slices.Sort(bound)
			if message.State == dynamic.StateSynced && slices.Equal(bound, addresses) {
				return
			}
		case <-timeout.C:
			i.t.Fatalf("%s: not bound to %q within 2 min", what, addresses)
		}
	}
}

// TestRecordedAddressesAreFollowed proves that an address that the leader has recorded in the status of a Gateway binds
// its listeners on the other instances, that these keep it when they lead, and that the former leader keeps it too.
func TestRecordedAddressesAreFollowed(t *testing.T) {
	server := clienttest.New(t)
	group := schema.GroupVersion(gatewayv1.GroupVersion)
	server.Serve(gateways, "Gateway")
	server.Serve(group.WithResource("gatewayclasses"), "GatewayClass")
	options := config(static.ExposeByPool, "192.0.2.0/29")
	server.Put(group.WithResource("gatewayclasses"), &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: "sluice", UID: "uid-class", Generation: 1},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(options.ControllerName)},
	})
	one := made("edge", 0)
	one.Generation = 1
	one.Spec.GatewayClassName = "sluice"
	one.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	server.Put(gateways, one)
	leader, follower := newInstance(t, server, options), newInstance(t, server, options)
	stop := leader.lead()
	leader.await("the leader", "192.0.2.1:80")
	follower.await("another instance")
	// Another address than the one that a leader would pick shows which of them counts.
	server.Put(gateways, showing(one, "192.0.2.5"))
	follower.await("once it is recorded", "192.0.2.5:80")
	leader.await("the leader, once it is recorded", "192.0.2.5:80")
	stop()
	follower.lead()
	older := made("older", 0)
	older.CreationTimestamp = metav1.NewTime(one.CreationTimestamp.Add(-time.Hour))
	older.Generation, older.Spec = 1, *one.Spec.DeepCopy()
	server.Put(gateways, older)
	follower.await("the next leader", "192.0.2.1:80", "192.0.2.5:80")
	server.Delete(gateways, "shop", "older")
	follower.await("the next leader", "192.0.2.5:80")
	server.Put(gateways, showing(one, "192.0.2.6"))
	leader.await("the former leader", "192.0.2.6:80")
}
