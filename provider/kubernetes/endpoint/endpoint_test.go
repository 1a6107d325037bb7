package endpoint_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/endpoint"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) {
	client.LogThrough(telemetry.Discard{})
	goleak.VerifyTestMain(m)
}

var (
	services  = corev1.SchemeGroupVersion.WithResource("services")
	legacy    = corev1.SchemeGroupVersion.WithResource("endpoints")
	sliceKind = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func sliceOf(name string, addresses ...string) *discoveryv1.EndpointSlice {
	port := int32(8080)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return slice
}

// start runs a cluster's watches until the test ends and returns the provider of its endpoints.
func start(t *testing.T, server *clienttest.Server) *endpoint.Provider {
	t.Helper()
	cluster, err := client.Connect(client.Options{Endpoint: server.URL()}, "k", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	provider := endpoint.New(cluster, client.Scope{LabelSelector: "routes=mine"}, nil, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := cluster.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return provider
}

// provide calls Provide and returns its messages, and what ends it.
func provide(t *testing.T, provider *endpoint.Provider) (<-chan dynamic.Message, func()) {
	t.Helper()
	messages, done := make(chan dynamic.Message), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- provider.Provide(ctx, messages) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Provide: %v", err)
		}
	})
	t.Cleanup(stop)
	return messages, stop
}

// next returns the next message that says more than why there is nothing to say yet.
func next(t *testing.T, messages <-chan dynamic.Message) dynamic.Message {
	t.Helper()
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	for {
		select {
		case message := <-messages:
			if message.State == dynamic.StateUnchanged && len(message.Endpoints) == 0 {
				continue
			}
			return message
		case <-timeout.C:
			t.Fatal("no message within 2 min")
		}
	}
}

// check compares a message's sets, each as KEY=ADDRESS,... or KEY=deleted.
func check(t *testing.T, message dynamic.Message, state dynamic.ProviderState, want ...string) {
	t.Helper()
	var got []string
	for _, set := range message.Endpoints {
		var addresses []string
		for _, one := range set.Endpoints {
			addresses = append(addresses, one.Address.String())
		}
		if set.Deleted {
			addresses = append(addresses, "deleted")
		}
		got = append(got, set.Key+"="+strings.Join(addresses, ","))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if message.State != state {
		t.Errorf("state %s (%s), want %s", message.State, message.Reason, state)
	}
}

func TestProvide(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("web"), service("api"))
	server.Put(sliceKind, sliceOf("web", "192.0.2.1"), sliceOf("api"))
	provider := start(t, server)
	messages, stop := provide(t, provider)
	check(t, next(t, messages), dynamic.StateSynced, "k/shop/api:80=", "k/shop/web:80=192.0.2.1:8080")

	server.Put(sliceKind, sliceOf("web", "192.0.2.1", "192.0.2.2"))
	check(t, next(t, messages), dynamic.StateUnchanged, "k/shop/web:80=192.0.2.1:8080,192.0.2.2:8080")

	annotated := sliceOf("web", "192.0.2.1", "192.0.2.2")
	annotated.Annotations = map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": "now"}
	server.Put(sliceKind, annotated)
	server.Put(sliceKind, sliceOf("api", "192.0.2.3"))
	check(t, next(t, messages), dynamic.StateUnchanged, "k/shop/api:80=192.0.2.3:8080")
	// A Service whose slices come after it, as below, is worth a look at the legacy Endpoints.
	for _, request := range server.Requests() {
		if strings.Contains(request, "routes") || strings.Contains(request, "/endpoints?") {
			t.Errorf("%s is none of its business", request)
		}
	}

	stop()
	server.Delete(services, "shop", "api")
	server.Put(services, service("new"))
	server.Put(sliceKind, sliceOf("new", "192.0.2.4"))
	messages, _ = provide(t, provider)
	seen := map[string]bool{}
	for !seen["k/shop/api:80=deleted"] || !seen["k/shop/web:80"] || !seen["k/shop/new:80"] {
		for _, set := range next(t, messages).Endpoints {
			key := set.Key
			if set.Deleted {
				key += "=deleted"
			}
			seen[key] = true
		}
	}
}

func TestProvideAgainAfterAnUndeliveredMessage(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("web"), service("api"))
	server.Put(sliceKind, sliceOf("web", "192.0.2.1"), sliceOf("api", "192.0.2.2"))
	provider := start(t, server)
	messages, stop := provide(t, provider)
	next(t, messages)
	server.Delete(services, "shop", "api") // The message about it is not received.
	server.Put(sliceKind, sliceOf("web", "192.0.2.3"))
	stop()
	messages, _ = provide(t, provider)
	deleted, moved := false, false
	for !deleted || !moved {
		for _, set := range next(t, messages).Endpoints {
			deleted = deleted || set.Key == "k/shop/api:80" && set.Deleted
			moved = moved || set.Key == "k/shop/web:80" && set.Endpoints[0].Address.String() == "192.0.2.3:8080"
		}
	}
}

func TestLegacyEndpoints(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("old"), service("web"))
	server.Put(sliceKind, sliceOf("web", "192.0.2.1"))
	endpoints := func(name, address string, labels map[string]string) *client.Endpoints {
		return &client.Endpoints{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels},
			Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // What legacy Endpoints consist of.
				Addresses: []corev1.EndpointAddress{{IP: address}}, Ports: []corev1.EndpointPort{{Port: 8080}},
			}},
		}
	}
	server.Put(legacy, endpoints("old", "192.0.2.9", nil), endpoints("web", "192.0.2.1",
		map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"}))
	messages, _ := provide(t, start(t, server))
	check(t, next(t, messages), dynamic.StateSynced, "k/shop/old:80=192.0.2.9:8080", "k/shop/web:80=192.0.2.1:8080")
	server.Put(legacy, endpoints("old", "192.0.2.8", nil))
	check(t, next(t, messages), dynamic.StateUnchanged, "k/shop/old:80=192.0.2.8:8080")
}

func TestLegacyEndpointsOfALateService(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Refuse("list", "endpoints")
	server.Refuse("watch", "endpoints")
	messages, _ := provide(t, start(t, server))
	check(t, next(t, messages), dynamic.StateSynced)
	server.Put(services, service("old"))
	check(t, next(t, messages), dynamic.StateUnchanged, "k/shop/old:80=")
	for {
		if message := <-messages; message.Reason != "" {
			if message.State != dynamic.StateUnchanged || message.Reason != "may not list and watch endpoints" {
				t.Errorf("state %s, reason %q, want what legacy Endpoints lack and no other state", message.State, message.Reason)
			}
			return
		}
	}
}

func TestProvideWithoutRights(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("web"))
	server.Put(sliceKind, sliceOf("web", "192.0.2.1"))
	server.Refuse("list", "endpointslices")
	server.Refuse("watch", "endpointslices")
	messages, _ := provide(t, start(t, server))
	message := next(t, messages)
	if message.State != dynamic.StateForbidden || !strings.Contains(message.Reason,
		"may not list and watch endpointslices") {
		t.Errorf("state %s (%s), want forbidden with verbs and resource", message.State, message.Reason)
	}
	server.Grant("list", "endpointslices")
	server.Grant("watch", "endpointslices")
	synced, served := false, false
	for !synced || !served {
		message := next(t, messages)
		synced = synced || message.State == dynamic.StateSynced
		for _, set := range message.Endpoints {
			served = served || len(set.Endpoints) == 1
		}
	}
}

func TestProvideWaitsForTheAPIServer(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("web"))
	server.Put(sliceKind, sliceOf("web", "192.0.2.1"))
	server.Stop()
	messages, _ := provide(t, start(t, server))
	if message := <-messages; message.State != dynamic.StateUnchanged || len(message.Endpoints) != 0 ||
		!strings.Contains(message.Reason, "refused") {
		t.Errorf("message %+v, want the reason alone", message)
	}
	server.Start()
	check(t, next(t, messages), dynamic.StateSynced, "k/shop/web:80=192.0.2.1:8080")
}
