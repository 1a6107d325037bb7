package xds

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// hands is how many objects are written at a time.
	hands = 16
	// changes is how many changes of an EndpointSlice are followed, called how many Services are called by a Sluice whose
	// memory is measured.
	changes, called = 100, 10
	// costs is what the provider may cost in memory: twice of what is promised.
	costs = 80 << 20
)

// size is how many Services there are.
func size() int {
	if all() {
		return 5000
	}
	return 200
}

// multitude is a cluster of many Services, all of them with one of two pods.
type multitude struct {
	t      testing.TB
	c      *cluster.Cluster
	client kubernetes.Interface
	pods   []string // their addresses
}

// TestManyServices measures in a cluster with many Services. What it prints is in docs/performance.
func TestManyServices(t *testing.T) {
	c := prepare(t)
	c.Apply(namespace("shop"), namespace("many"), deployment("shop/pods", "polite", "2"))
	c.Deployed("shop/pods")
	config := rest.CopyConfig(c.Config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	m := &multitude{t: t, c: c, client: client, pods: c.Endpoints("shop/pods", 2)}
	began := time.Now()
	m.fill()
	t.Logf("%d Services in %v", size(), time.Since(began).Round(time.Millisecond))
	publisher := publish(t, c, nil)
	now, peak := publisher.Memory()
	t.Logf("publisher: %.1f MiB resident, at most %.1f MiB", mib(now), mib(peak))
	m.discover()
	m.follow()
	now, peak = publisher.Memory()
	t.Logf("publisher: %.1f MiB resident, at most %.1f MiB", mib(now), mib(peak))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func service(i int) string { return fmt.Sprintf("service-%d", i) }

// fill makes the Services and their EndpointSlices.
func (m *multitude) fill() {
	m.t.Helper()
	var busy sync.WaitGroup
	numbers, faults := make(chan int), make(chan error, hands)
	for range hands {
		busy.Go(func() {
			var fault error
			for i := range numbers {
				if fault == nil {
					fault = m.create(i)
				}
			}
			faults <- fault
		})
	}
	for i := range size() {
		numbers <- i
	}
	close(numbers)
	busy.Wait()
	for range hands {
		if err := <-faults; err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *multitude) create(i int) error {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service(i)},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "grpc", Port: 80}},
		},
	}
	if _, err := m.client.CoreV1().Services("many").Create(m.t.Context(), object, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := m.client.DiscoveryV1().EndpointSlices("many").Create(m.t.Context(), m.slice(i, m.pods[0]),
		metav1.CreateOptions{})
	return err
}

// slice is the EndpointSlice of a Service with one endpoint.
func (m *multitude) slice(i int, pod string) *discoveryv1.EndpointSlice {
	name, port, protocol := "grpc", int32(8080), corev1.ProtocolTCP
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: service(i), Labels: map[string]string{discoveryv1.LabelServiceName: service(i)},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{pod}}},
	}
}

// discover requests hosts that a Sluice does not know yet, and compares its memory with one that knows none.
func (m *multitude) discover() {
	m.t.Helper()
	reader := harness.Start(m.t, harness.Setup{Static: staticReader})
	plain := harness.Start(m.t, harness.Setup{Static: staticPlain})
	web := harness.NewClient(m.t, harness.H1, reader.Addr("web"), "any.test", nil)
	other := harness.NewClient(m.t, harness.H1, plain.Addr("web"), "any.test", nil)
	var first []time.Duration
	var memory int64
	for i := range 2 * called {
		if _, err := request(m.t.Context(), other, service(i)+".many"); err == nil {
			m.t.Error("a Sluice without the provider knows a host")
		}
		began := time.Now()
		if _, err := request(m.t.Context(), web, service(i)+".many"); err != nil {
			m.t.Errorf("the first request to %s.many: %v", service(i), err)
		}
		first = append(first, time.Since(began))
		if i == called-1 {
			with, _ := reader.Memory()
			without, _ := plain.Memory()
			memory = with - without
			m.t.Logf("a Sluice that calls %d of %d Services: %.1f MiB resident, %.1f MiB without the provider", called,
				size(), mib(with), mib(without))
		}
	}
	m.t.Logf("first requests to unknown hosts: %s", spread(first))
	if memory > costs {
		m.t.Errorf("the provider costs %.1f MiB", mib(memory))
	}
}

// follow changes the endpoint of a Service and waits for the first call of grpc-go that it answers.
func (m *multitude) follow() {
	m.t.Helper()
	call := calls(dialXDS(m.t, service(0)+".many:80"))[unary]
	m.reach(call, "")
	names := m.names()
	var whole, written []time.Duration
	for i := range changes {
		pod := m.pods[(i+1)%2]
		began := time.Now()
		if _, err := m.client.DiscoveryV1().EndpointSlices("many").Update(m.t.Context(), m.slice(0, pod),
			metav1.UpdateOptions{}); err != nil {
			m.t.Fatal(err)
		}
		done := time.Now()
		m.reach(call, names[pod])
		end := time.Now()
		whole, written = append(whole, end.Sub(began)), append(written, end.Sub(done))
	}
	m.t.Logf("from a change of an EndpointSlice to a call by grpc-go: %s", spread(written))
	m.t.Logf("the same with the time that the API server takes: %s", spread(whole))
}

// names returns the pods by their addresses.
func (m *multitude) names() map[string]string {
	m.t.Helper()
	list, err := m.client.CoreV1().Pods("shop").List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	names := map[string]string{}
	for _, pod := range list.Items {
		names[pod.Status.PodIP] = pod.Namespace + "/" + pod.Name
	}
	return names
}

// reach calls until a pod answers; without a name any will do.
func (m *multitude) reach(call call, pod string) {
	m.t.Helper()
	deadline := time.Now().Add(timeout)
	for {
		ctx, cancel := context.WithTimeout(m.t.Context(), patience)
		answered, err := call(ctx)
		cancel()
		if err != nil {
			m.t.Fatal(err)
		}
		if answered == pod || pod == "" {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("%s answers %v after the change, want %s", answered, timeout, pod)
		}
	}
}

// spread formats the median, the 99th percentile and the largest of some times.
func spread(times []time.Duration) string {
	sorted := slices.Sorted(slices.Values(times))
	at := func(part float64) time.Duration {
		return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("median %v, p99 %v, largest %v of %d", at(0.5), at(0.99), at(1), len(sorted))
}
