package backend

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// fixed is a cluster of one Service and some nodes.
type fixed struct {
	service *corev1.Service
	nodes   []*corev1.Node
}

func (f fixed) Service(namespace, name string) *corev1.Service {
	if f.service == nil || f.service.Namespace != namespace || f.service.Name != name {
		return nil
	}
	return f.service
}

func (f fixed) Nodes() []*corev1.Node { return f.nodes }

func web(spec corev1.ServiceSpec) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: spec}
}

// reached is a reference to a Service with what it comes to.
type reached struct {
	name      string
	spec      corev1.ServiceSpec
	reference Reference
	options   Options
	wantSet   string
	wantURLs  []string
	problem   string
	missing   bool
}

func references() []reached {
	ports := []corev1.ServicePort{
		{Name: "443", Port: 80},
		{Name: "https", Port: 8443, NodePort: 30443},
		{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
	}
	clusterIP := corev1.ServiceSpec{ClusterIP: "192.0.2.1", Ports: ports}
	external := corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com."}
	nodePort := corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "192.0.2.1", Ports: ports}
	yes, no := true, false
	return []reached{
		{name: "a number", spec: clusterIP, reference: Reference{Port: intstr.FromInt32(80)}, wantSet: "http c/shop/web:80"},
		{
			name: "a name", spec: clusterIP, reference: Reference{Port: intstr.FromString("https")},
			wantSet: "https c/shop/web:8443",
		},
		{
			name: "a number in quotes is a name first", spec: clusterIP,
			reference: Reference{Port: intstr.FromString("443")}, wantSet: "http c/shop/web:80",
		},
		{
			name: "a number in quotes", spec: clusterIP, reference: Reference{Port: intstr.FromString("8443")},
			wantSet: "https c/shop/web:8443",
		},
		{
			name: "UDP", spec: clusterIP, reference: Reference{Port: intstr.FromString("dns")},
			problem: "Service shop/web has no port dns, which has 80 (443), 8443 (https), 53 (dns)/UDP", missing: true,
		},
		{name: "no port", spec: corev1.ServiceSpec{}, problem: "no port is given for Service shop/web"},
		{
			name: "external", spec: external, reference: Reference{Port: intstr.FromInt32(443), Scheme: "h2c"},
			options: Options{AllowExternalNameServices: true}, wantURLs: []string{"h2c://example.com:443"},
		},
		{
			name: "external with no such number", spec: external, reference: Reference{Port: intstr.FromInt32(65536)},
			options: Options{AllowExternalNameServices: true}, problem: "Service shop/web has no port 65536", missing: true,
		},
		{
			name: "external without a name", spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName},
			reference: Reference{Port: intstr.FromInt32(80)}, options: Options{AllowExternalNameServices: true},
			problem: "Service shop/web has the type ExternalName and no name",
		},
		{
			name: "native by default", spec: clusterIP, reference: Reference{Port: intstr.FromInt32(80)},
			options: Options{NativeLBByDefault: true}, wantURLs: []string{"http://192.0.2.1:80"},
		},
		{
			name: "native is switched off", spec: clusterIP, reference: Reference{Port: intstr.FromInt32(80), NativeLB: &no},
			options: Options{NativeLBByDefault: true}, wantSet: "http c/shop/web:80",
		},
		{
			name: "native before nodes", spec: nodePort, reference: Reference{
				Port: intstr.FromInt32(80), NativeLB: &yes,
				NodePortLB: true,
			},
			wantURLs: []string{"http://192.0.2.1:80"},
		},
		{
			name: "no node port", spec: nodePort, reference: Reference{Port: intstr.FromInt32(80), NodePortLB: true},
			problem: "Service shop/web has no node port for port 80",
		},
		{
			name: "no nodes", spec: nodePort, reference: Reference{Port: intstr.FromInt32(8443), NodePortLB: true},
			problem: "no node has an internal address for the node port of Service shop/web", missing: true,
		},
	}
}

func TestLoadBalancer(t *testing.T) {
	for _, test := range references() {
		t.Run(test.name, func(t *testing.T) {
			test.reference.Namespace, test.reference.Name, test.options.Source = "shop", "web", "c"
			balancer, problem := LoadBalancer(test.reference, test.options, fixed{service: web(test.spec)})
			if problem == nil {
				problem = &Problem{}
			}
			if problem.Reason != test.problem || problem.Missing != test.missing {
				t.Errorf("problem is %+v, want %q, missing: %t", *problem, test.problem, test.missing)
			}
			set := ""
			if balancer.EndpointSet != "" {
				set = balancer.Scheme + " " + balancer.EndpointSet
			}
			var urls []string
			for _, server := range balancer.Servers {
				urls = append(urls, server.URL)
			}
			if diff := cmp.Diff(test.wantURLs, urls); diff != "" || set != test.wantSet {
				t.Errorf("endpoint set is %q, want %q; servers (-want +got):\n%s", set, test.wantSet, diff)
			}
			if balancer.PassHostHeader == nil || balancer.Strategy == "" {
				t.Errorf("%+v lacks defaults", balancer)
			}
		})
	}
}

func TestLoadBalancerKeepsTheGivenOptions(t *testing.T) {
	given := &dynamic.ServersLoadBalancer{
		Strategy:    dynamic.StrategyHRW,
		HealthCheck: &dynamic.ServerHealthCheck{Path: "/"},
	}
	reference := Reference{Namespace: "shop", Name: "web", Port: intstr.FromInt32(80), Balancer: given}
	objects := fixed{service: web(corev1.ServiceSpec{ClusterIP: "192.0.2.1", Ports: []corev1.ServicePort{{Port: 80}}})}
	balancer, problem := LoadBalancer(reference, Options{}, objects)
	if problem != nil || balancer.Strategy != dynamic.StrategyHRW || balancer.HealthCheck != given.HealthCheck ||
		balancer.EndpointSet == "" {
		t.Errorf("%+v with %v; want the strategy and the health check", balancer, problem)
	}
	if given.EndpointSet != "" {
		t.Errorf("the given options were changed to %+v", given)
	}
	if balancer, problem = LoadBalancer(reference, Options{}, fixed{}); problem == nil || !problem.Missing ||
		balancer == nil {
		t.Errorf("a Service that does not exist gives %+v and %v", balancer, problem)
	}
}

// TestResolveByProtocol resolves references to a Service that has one port for TCP and one for UDP, of the same number.
func TestResolveByProtocol(t *testing.T) {
	spec := corev1.ServiceSpec{ClusterIP: "2001:db8::1", Ports: []corev1.ServicePort{
		{Name: "dns-tcp", Port: 53},
		{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		{Name: "sctp", Port: 54, Protocol: corev1.ProtocolSCTP},
	}}
	external := corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com."}
	for _, test := range []struct {
		name     string
		spec     corev1.ServiceSpec
		port     intstr.IntOrString
		protocol corev1.Protocol
		native   bool
		want     Target
		problem  string
	}{
		{
			name: "TCP by number", spec: spec, port: intstr.FromInt32(53), protocol: corev1.ProtocolTCP,
			want: Target{EndpointSet: "c/shop/web:53"},
		},
		{
			name: "UDP by number", spec: spec, port: intstr.FromInt32(53), protocol: corev1.ProtocolUDP,
			want: Target{EndpointSet: "c/shop/web:53/udp"},
		},
		{
			name: "UDP by name", spec: spec, port: intstr.FromString("dns"), protocol: corev1.ProtocolUDP,
			want: Target{EndpointSet: "c/shop/web:53/udp"},
		},
		{
			name: "the name of a TCP port", spec: spec, port: intstr.FromString("dns-tcp"), protocol: corev1.ProtocolUDP,
			want: Target{
				EndpointSet: "c/shop/web:53",
				Instead: "Service shop/web has no UDP port dns-tcp, which has 53 (dns-tcp), 53 (dns)/UDP, 54 (sctp)/SCTP; its " +
					"TCP port is used instead",
			},
		},
		{
			name: "the name of a UDP port", spec: spec, port: intstr.FromString("dns"), protocol: corev1.ProtocolTCP,
			problem: "Service shop/web has no port dns, which has 53 (dns-tcp), 53 (dns)/UDP, 54 (sctp)/SCTP",
		},
		{
			name: "SCTP", spec: spec, port: intstr.FromInt32(54), protocol: corev1.ProtocolUDP,
			problem: "Service shop/web has no UDP port 54, which has 53 (dns-tcp), 53 (dns)/UDP, 54 (sctp)/SCTP",
		},
		{
			name: "native", spec: spec, port: intstr.FromString("dns"), protocol: corev1.ProtocolUDP, native: true,
			want: Target{Addresses: []string{"[2001:db8::1]:53"}},
		},
		{
			name: "external", spec: external, port: intstr.FromInt32(53), protocol: corev1.ProtocolUDP,
			want: Target{Addresses: []string{"example.com:53"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			reference := Reference{Namespace: "shop", Name: "web", Port: test.port, NativeLB: &test.native}
			options := Options{Source: "c", AllowExternalNameServices: true}
			got, problem := Resolve(reference, test.protocol, options, fixed{service: web(test.spec)})
			if problem == nil {
				problem = &Problem{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || problem.Reason != test.problem {
				t.Errorf("problem is %q, want %q; target (-want +got):\n%s", problem.Reason, test.problem, diff)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	reference := Reference{Namespace: "shop", Name: "web", NodePortLB: true}
	want := []translation.Source{{Kind: "Service", Namespace: "shop", Name: "web"}, {Kind: "Node"}}
	if diff := cmp.Diff(want, reference.Needs()); diff != "" {
		t.Error(diff)
	}
	for protocol, want := range map[corev1.Protocol]string{
		"": "kubernetes/shop/web:80", corev1.ProtocolTCP: "kubernetes/shop/web:80",
		corev1.ProtocolUDP: "kubernetes/shop/web:80/udp",
	} {
		if got := EndpointKey("kubernetes", "shop", "web", 80, protocol); got != want {
			t.Errorf("the key for %q is %q, want %q", protocol, got, want)
		}
	}
}
