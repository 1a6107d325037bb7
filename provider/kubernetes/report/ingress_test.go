package report

import (
	"iter"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// held is a watch of what a test says.
type held[T client.Object] struct {
	objects map[string]T
	heard   []func(before, after T)
}

func (h *held[T]) Get(namespace, name string) (T, bool) {
	object, ok := h.objects[namespace+"/"+name]
	return object, ok
}
func (h *held[T]) All() iter.Seq[T]                    { return maps.Values(h.objects) }
func (h *held[T]) Notify(handle func(before, after T)) { h.heard = append(h.heard, handle) }
func (*held[T]) Status() client.Status                 { return client.Status{State: dynamic.StateSynced} }

// set puts an object into the watch and notifies the watchers.
func (h *held[T]) set(object T) {
	before := h.objects[object.GetNamespace()+"/"+object.GetName()]
	if h.objects == nil {
		h.objects = map[string]T{}
	}
	h.objects[object.GetNamespace()+"/"+object.GetName()] = object
	for _, handle := range h.heard {
		handle(before, object)
	}
}

// claims are Ingresses that are Sluice's to answer.
type claims struct{ held[*networkingv1.Ingress] }

func (c *claims) Claimed() iter.Seq[*networkingv1.Ingress] { return c.All() }
func (c *claims) OnClaimed(changed func()) {
	c.Notify(func(_, _ *networkingv1.Ingress) { changed() })
}

const ingressesPath = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/"

// add puts an Ingress into the cluster and its watch.
func (c *claims) add(t *testing.T, server *apiServer, name string, shown ...string) {
	t.Helper()
	ingress := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
	}
	for _, ip := range shown {
		ingress.Status.LoadBalancer.Ingress = append(ingress.Status.LoadBalancer.Ingress,
			networkingv1.IngressLoadBalancerIngress{IP: ip})
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ingress)
	if err != nil {
		t.Fatal(err)
	}
	ingress.ResourceVersion = server.put(ingressesPath+name, content)
	c.set(ingress)
}

// shows returns the addresses that an Ingress shows in the cluster.
func (s *apiServer) shows(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ingress := &networkingv1.Ingress{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.objects[ingressesPath+name], ingress); err != nil {
		s.t.Error(err)
	}
	var all []string
	for _, one := range ingress.Status.LoadBalancer.Ingress {
		all = append(all, one.IP+one.Hostname)
	}
	return strings.Join(all, " ")
}

func service(kind corev1.ServiceType, clusterIP string, balancers []string, external ...string) *corev1.Service {
	one := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "sluice"},
		Spec:       corev1.ServiceSpec{Type: kind, ClusterIP: clusterIP, ExternalIPs: external},
	}
	for _, ip := range balancers {
		one.Status.LoadBalancer.Ingress = append(one.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
	}
	return one
}

func node(name, ip string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: ip},
		}},
	}
}

func TestWhatIngressesShow(t *testing.T) {
	nodes := &held[*corev1.Node]{}
	nodes.set(node("b", "192.0.2.12"))
	nodes.set(node("a", "192.0.2.11"))
	external := service(corev1.ServiceTypeExternalName, "", nil)
	external.Spec.ExternalName = "edge.example.com"
	for name, test := range map[string]struct {
		service *corev1.Service
		fixed   []address
		nodes   watch[*corev1.Node]
		want    []address
	}{
		"address and name": {
			nil,
			[]address{{"192.0.2.1", "x.test"}},
			nil,
			[]address{{"192.0.2.1", "x.test"}},
		},
		"load balancer": {
			service("LoadBalancer", "10.0.0.1", []string{"192.0.2.3", "192.0.2.2"}),
			nil,
			nil,
			[]address{{ip: "192.0.2.2"}, {ip: "192.0.2.3"}},
		},
		"load balancer and own": {
			service("LoadBalancer", "10.0.0.1", []string{"192.0.2.3"}, "192.0.2.9"),
			nil,
			nil,
			[]address{{ip: "192.0.2.3"}, {ip: "192.0.2.9"}},
		},
		"load balancer without one": {service("LoadBalancer", "10.0.0.1", nil), nil, nil, nil},
		"node port": {
			service("NodePort", "10.0.0.1", nil, "192.0.2.9"),
			nil,
			nil,
			[]address{{ip: "192.0.2.9"}},
		},
		"node port without one": {service("NodePort", "10.0.0.1", nil), nil, nil, nil},
		"node port and nodes": {
			service("NodePort", "10.0.0.1", nil),
			nil,
			nodes,
			[]address{{ip: "192.0.2.11"}, {ip: "192.0.2.12"}},
		},
		"cluster address": {
			service("ClusterIP", "10.0.0.1", nil),
			nil,
			nil,
			[]address{{ip: "10.0.0.1"}},
		},
		"headless":        {service("ClusterIP", "None", nil), nil, nil, nil},
		"name of another": {external, nil, nil, []address{{hostname: "edge.example.com"}}},
		"no Service":      {nil, nil, nil, nil},
		"nodes": {nil, nil, nodes, []address{
			{ip: "192.0.2.11"},
			{ip: "192.0.2.12"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			services := &held[*corev1.Service]{}
			a := &Addresses{fixed: test.fixed, namespace: "edge", service: "sluice", nodes: test.nodes}
			if test.fixed == nil && (test.service != nil || test.nodes == nil) {
				a.published = services
			}
			if test.service != nil {
				services.set(test.service)
			}
			found, reason := a.now()
			if diff := cmp.Diff(test.want, found, cmp.AllowUnexported(address{})); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if (len(test.want) == 0) != (reason != "") && test.nodes == nil {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

func TestIngressesShowWhereTheyAreReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		ingresses, services := &claims{}, &held[*corev1.Service]{}
		ingresses.add(t, server, "right", "192.0.2.1")
		ingresses.add(t, server, "wrong", "192.0.2.7")
		r := newRig(t, server, "one", func(o *Options) {
			o.Addresses = []*Addresses{{ingresses: ingresses, published: services, namespace: "edge", service: "sluice"}}
		})
		r.run()
		pass(time.Second)
		if server.seen("PATCH") != 0 || r.log.count("edge/sluice does not exist") != 1 {
			t.Fatalf("%d patches without an address; log: %v", server.seen("PATCH"), r.log.lines)
		}
		services.set(service("LoadBalancer", "10.0.0.1", []string{"192.0.2.1"}))
		pass(time.Second)
		if shown := server.shows("wrong"); shown != "192.0.2.1" || server.seen("PATCH") != 1 {
			t.Errorf("it shows %q after %d patches, want 192.0.2.1 after one", shown, server.seen("PATCH"))
		}
		// The watch is slow to bring what was written, which is no reason to write it again.
		ingresses.add(t, server, "new")
		pass(10 * time.Minute)
		if shown := server.shows("new"); shown != "192.0.2.1" || server.seen("PATCH") != 2 {
			t.Errorf("a new one shows %q after %d patches, want 192.0.2.1 after two", shown, server.seen("PATCH"))
		}
		services.set(service("LoadBalancer", "10.0.0.1", nil))
		pass(time.Minute)
		if shown := server.shows("new"); shown != "192.0.2.1" {
			t.Errorf("it shows %q, want the last address that was known", shown)
		}
	})
}

func TestIngressStatusThatMayNotBeWrittenIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		server.refuse("PATCH ingresses/status", true)
		ingresses := &claims{}
		for _, name := range []string{"a", "b", "c"} {
			ingresses.add(t, server, name)
		}
		r := newRig(t, server, "one", func(o *Options) {
			o.Addresses = []*Addresses{{ingresses: ingresses, fixed: []address{{hostname: "x.test"}}}}
		})
		r.run()
		pass(10 * time.Minute)
		if tries := server.seen("PATCH"); r.log.count("may not patch ingresses/status.networking.k8s.io") != 1 || tries > 12 {
			t.Errorf("%d attempts, log: %v", tries, r.log.lines)
		}
		server.refuse("PATCH ingresses/status", false)
		pass(2 * time.Minute)
		if shown := server.shows("c"); shown != "x.test" {
			t.Errorf("it shows %q once it is granted", shown)
		}
	})
}

func TestAddressesFollowTheOptions(t *testing.T) {
	cluster, err := client.Connect(client.Options{Endpoint: "http://127.0.0.1:1"}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config static.KubernetesIngress
		none   bool
		fault  string
	}{
		"nothing": {static.KubernetesIngress{}, true, ""},
		"address": {static.KubernetesIngress{IngressEndpoint: &static.IngressEndpoint{IP: "192.0.2.1"}}, false, ""},
		"bad address": {
			static.KubernetesIngress{IngressEndpoint: &static.IngressEndpoint{IP: "192.0.2"}},
			true,
			"ingressEndpoint.ip",
		},
		"Service": {
			static.KubernetesIngress{IngressEndpoint: &static.IngressEndpoint{PublishedService: "a/b"}},
			false,
			"",
		},
		"bad Service": {
			static.KubernetesIngress{IngressEndpoint: &static.IngressEndpoint{PublishedService: "b"}},
			true,
			"publishedService",
		},
		"nodes": {static.KubernetesIngress{ReportNodeInternalIPs: true}, false, ""},
		"no nodes read": {
			static.KubernetesIngress{ReportNodeInternalIPs: true, DisableClusterScopeResources: true},
			true,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := NewAddresses(cluster, &claims{}, test.config, telemetry.Discard{})
			if (found == nil) != test.none || (err == nil) != (test.fault == "") {
				t.Fatalf("addresses %v, error %v", found, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("error %q does not name %s", err, test.fault)
			}
		})
	}
}

func TestPublishedAddresses(t *testing.T) {
	cluster, err := client.Connect(client.Options{Endpoint: "http://127.0.0.1:1"}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config static.KubernetesNGINX
		fault  string
	}{
		"Service":     {static.KubernetesNGINX{PublishService: "edge/sluice"}, ""},
		"bad Service": {static.KubernetesNGINX{PublishService: "sluice"}, "publishService"},
		"addresses":   {static.KubernetesNGINX{PublishStatusAddress: []string{"192.0.2.1", "edge.example.com"}}, ""},
		"none":        {static.KubernetesNGINX{}, "either publishService or publishStatusAddress"},
		"both": {
			static.KubernetesNGINX{PublishService: "edge/sluice", PublishStatusAddress: []string{"192.0.2.1"}},
			"either publishService or publishStatusAddress",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := NewPublished(cluster, &claims{}, test.config)
			if (found != nil) != (test.fault == "") || (err == nil) != (test.fault == "") {
				t.Fatalf("addresses %v, error %v", found, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("error %q does not name %s", err, test.fault)
			}
			if found == nil || found.fixed == nil {
				return
			}
			shown, _ := found.now()
			if diff := cmp.Diff([]address{{hostname: "edge.example.com"}, {ip: "192.0.2.1"}}, shown,
				cmp.AllowUnexported(address{})); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}
