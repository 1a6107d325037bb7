package population

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Prefix is that of annotations.
	Prefix = "nginx.ingress.kubernetes.io/"
	// Class is that of all Ingresses.
	Class = "nginx"
	// AuthAddress is where the kind with auth-url has its requests authorized.
	AuthAddress = "198.18.255.1"
	// perNamespace is the number of Ingresses of a namespace. Each has a Service of its own, since ingress-nginx has one
	// canary and one affinity for all Ingresses of a Service.
	perNamespace = 40
)

// Member is one host with its Ingress, or two with a canary.
type Member struct {
	Kind      string
	Ingresses []*networkingv1.Ingress
	Namespace string
	Host      string
	// Service is the one that answers where the status is 200; with a canary it may be Canary too.
	Service, Canary string
	// Path is that of a request, and Status that of its answer without TLS.
	Path   string
	Status int
}

// Make returns hosts with a number of Ingresses, the same for each number.
func Make(ingresses int) []Member {
	all := kinds()
	sum := 0
	for _, k := range all {
		sum += k.weight
	}
	chosen := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // A mixture that is the same each time.
	var members []Member
	for number := 0; number < ingresses; {
		at := chosen.IntN(sum)
		i := 0
		for ; at >= all[i].weight; i++ {
			at -= all[i].weight
		}
		k := all[i]
		if k.canary != nil && number+2 > ingresses {
			k = all[len(all)-1]
		}
		m := k.member(number)
		members = append(members, m)
		number += len(m.Ingresses)
	}
	return members
}

// NamespaceOf returns the namespace of an Ingress.
func NamespaceOf(number int) string { return fmt.Sprintf("team-%02d", number/perNamespace) }

// member returns the host of a number.
func (k kind) member(number int) Member {
	m := Member{
		Kind: k.name, Namespace: NamespaceOf(number), Host: fmt.Sprintf("i%05d.%s.example.com", number, NamespaceOf(number)),
		Service: serviceName(number), Path: "/", Status: http.StatusOK,
	}
	if k.status != 0 {
		m.Status = k.status
	}
	if k.request != "" {
		m.Path = k.request
	}
	m.Ingresses = []*networkingv1.Ingress{k.ingress(m, fmt.Sprintf("i%05d", number), m.Service, k.annotations)}
	if k.canary != nil {
		m.Canary = serviceName(number + 1)
		m.Ingresses = append(m.Ingresses, k.ingress(m, fmt.Sprintf("i%05d-canary", number), m.Canary, k.canary))
	}
	return m
}

func serviceName(number int) string { return fmt.Sprintf("web-%05d", number) }

// TurnService returns one of two Services of each namespace, in turns. No Ingress leads there at first.
func TurnService(turn int) string { return fmt.Sprintf("turn-%d", turn%2) }

func (k kind) ingress(m Member, name, service string, annotations map[string]string) *networkingv1.Ingress {
	path, pathType := "/", networkingv1.PathTypePrefix
	if k.path != "" {
		path, pathType = k.path, networkingv1.PathTypeImplementationSpecific
	}
	class := Class
	object := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: name, Annotations: map[string]string{}},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
			Host: m.Host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &pathType, Backend: backendOf(service)}},
			}},
		}}},
	}
	if k.secure {
		object.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{m.Host}, SecretName: "certificate"}}
	}
	for key, value := range annotations {
		object.Annotations[Prefix+key] = expand(m, value)
	}
	return object
}

// expand replaces NAMESPACE and HOST in the value of an annotation.
func expand(m Member, value string) string {
	return strings.NewReplacer("NAMESPACE", m.Namespace, "HOST", m.Host).Replace(value)
}

func backendOf(service string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: service, Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
}

// Surroundings are the namespaces of Ingresses with what is in them.
type Surroundings struct {
	Namespaces []*corev1.Namespace
	Services   []*corev1.Service
	Slices     []*discoveryv1.EndpointSlice
	Secrets    []*corev1.Secret
}

// Around returns what a number of Ingresses need. Backends may be nil; they get the names of endpoints,
// "NAMESPACE/SERVICE". Certificate returns PEM texts for a name.
func Around(ingresses int, backends *Backends, certificate func(name string) (certificate, key, authority []byte),
) Surroundings {
	var s Surroundings
	for n := 0; n*perNamespace < ingresses; n++ {
		namespace := NamespaceOf(n * perNamespace)
		s.Namespaces = append(s.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		cert, key, authority := certificate("*." + namespace + ".example.com")
		s.Secrets = append(s.Secrets, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "certificate"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": authority},
		}, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "users"},
			Data:       map[string][]byte{"auth": []byte("user:$apr1$ZjTqBB3f$IF9gdYAGlMrs2fuINjHsz.\n")},
		})
		names := []string{TurnService(0), TurnService(1)}
		for i := range perNamespace + 1 { // The last one may be the canary's of the next namespace.
			names = append(names, serviceName(n*perNamespace+i))
		}
		for i, name := range names {
			address := fmt.Sprintf("198.18.%d.%d", n, i+1)
			service, slice := WithEndpoints(namespace, name, address)
			s.Services, s.Slices = append(s.Services, service), append(s.Slices, slice)
			if backends != nil {
				backends.Name(address, namespace+"/"+name)
			}
		}
	}
	return s
}

// WithEndpoints returns a Service with a port 80 and its EndpointSlice.
func WithEndpoints(namespace, name string, addresses ...string) (*corev1.Service, *discoveryv1.EndpointSlice) {
	portName, port, ready, protocol := "http", int32(Port), true, corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-x7k2p", Labels: map[string]string{
			discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "test.sluice.dev",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port, Protocol: &protocol}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready},
		})
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: portName, Port: 80}},
		},
	}, slice
}
