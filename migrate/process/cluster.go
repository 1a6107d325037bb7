package process

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
)

// mostEndpoints is how many endpoints of a Service are made; answers do not depend on their number beyond two.
const mostEndpoints = 4

// cluster makes the objects that are served of those that were read.
type cluster struct {
	options   *Options
	network   *network
	authority *authority
	out       []manifest.Object
}

func newCluster(options *Options, network *network, authority *authority) *cluster {
	return &cluster{options: options, network: network, authority: authority}
}

// objects returns all objects.
func (c *cluster) objects() ([]manifest.Object, error) {
	read := c.options.Objects
	for i := range read.Ingresses {
		one := &read.Ingresses[i]
		if err := c.add(networkingv1.SchemeGroupVersion.WithKind("Ingress"), one.Ingress); err != nil {
			return nil, err
		}
		last := &c.out[len(c.out)-1]
		last.File, last.Line = one.File, one.Line
	}
	classes := read.Classes
	if len(classes) == 0 {
		class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: c.options.Provider.IngressClass}}
		class.Spec.Controller = c.options.Provider.ControllerClass
		classes = append(classes, class)
	}
	for _, one := range classes {
		if err := c.add(networkingv1.SchemeGroupVersion.WithKind("IngressClass"), one); err != nil {
			return nil, err
		}
	}
	for _, one := range read.Namespaces {
		if err := c.add(corev1.SchemeGroupVersion.WithKind("Namespace"), one); err != nil {
			return nil, err
		}
	}
	for _, add := range []func() error{c.configMaps, c.secrets, c.services} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// add adds an object, unless it has no name.
func (c *cluster) add(kind schema.GroupVersionKind, object metav1.Object) error {
	if object.GetName() == "" {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind.Kind, object.GetNamespace(), object.GetName(), err)
	}
	made := &unstructured.Unstructured{Object: content}
	made.SetGroupVersionKind(kind)
	if made.GetUID() == "" {
		made.SetUID(types.UID(made.GetNamespace() + "-" + made.GetName()))
	}
	c.out = append(c.out, manifest.Object{Unstructured: made})
	return nil
}

// configMaps adds those that were read, or, if there are none, empty ones that annotations name.
func (c *cluster) configMaps() error {
	all := c.options.Objects.ConfigMaps
	if len(all) == 0 {
		for name := range c.named("auth-proxy-set-headers", "custom-headers") {
			all = append(all, &corev1.ConfigMap{ObjectMeta: meta(name)})
		}
	}
	for _, one := range all {
		if err := c.add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), one); err != nil {
			return err
		}
	}
	return nil
}

// named returns the objects, as NAMESPACE/NAME, that annotations of Ingresses name, with the Ingresses.
func (c *cluster) named(annotations ...string) map[string][]*source.Ingress {
	found := map[string][]*source.Ingress{}
	for i := range c.options.Objects.Ingresses {
		one := &c.options.Objects.Ingresses[i]
		for _, name := range annotations {
			value := one.Annotations[annotation.Prefix+name]
			if value != "" && !strings.Contains(value, "/") {
				value = one.Namespace + "/" + value
			}
			if value != "" {
				found[value] = append(found[value], one)
			}
		}
	}
	return found
}

func meta(name string) metav1.ObjectMeta {
	namespace, name, _ := strings.Cut(name, "/")
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// services adds the Services with their endpoints.
func (c *cluster) services() error {
	read := c.options.Objects
	ready := map[string]int{}
	for _, slice := range read.EndpointSlices {
		for i := range slice.Endpoints {
			if is := slice.Endpoints[i].Conditions.Ready; is == nil || *is {
				ready[slice.Namespace+"/"+slice.Labels[discoveryv1.LabelServiceName]] += len(slice.Endpoints[i].Addresses)
			}
		}
	}
	if len(read.Services) == 0 {
		for name, ports := range c.backends() {
			service := &corev1.Service{ObjectMeta: meta(name)}
			shown := map[uint16]string{}
			for i, port := range slices.Sorted(maps.Keys(ports)) {
				made := corev1.ServicePort{Name: port, Port: int32(20000 + i)} //nolint:gosec // An Ingress has few ports.
				if number, err := strconv.ParseUint(port, 10, 16); err == nil {
					made = corev1.ServicePort{Name: "port-" + port, Port: int32(number)}
				}
				shown[uint16(made.Port)] = port //nolint:gosec // It is a port.
				service.Spec.Ports = append(service.Spec.Ports, made)
			}
			if err := c.service(service, shown, 1); err != nil {
				return err
			}
		}
	}
	for _, service := range read.Services {
		count := 1
		if len(read.EndpointSlices) > 0 {
			count = min(ready[service.Namespace+"/"+service.Name], mostEndpoints)
		}
		if service.Name == "" {
			continue
		}
		if err := c.service(service.DeepCopy(), nil, count); err != nil {
			return err
		}
	}
	return nil
}

// backends returns the ports of Services to which Ingresses and the options lead.
func (c *cluster) backends() map[string]map[string]bool {
	found := map[string]map[string]bool{}
	add := func(name, port string) {
		if found[name] == nil {
			found[name] = map[string]bool{}
		}
		found[name][port] = true
	}
	backend := func(of *source.Ingress, one *networkingv1.IngressBackend) {
		if one == nil || one.Service == nil {
			return
		}
		port := one.Service.Port.Name
		if number := one.Service.Port.Number; number > 0 {
			port = strconv.Itoa(int(number))
		}
		add(of.Namespace+"/"+one.Service.Name, cmp.Or(port, "80"))
	}
	for i := range c.options.Objects.Ingresses {
		one := &c.options.Objects.Ingresses[i]
		backend(one, one.Spec.DefaultBackend)
		for _, rule := range one.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for j := range rule.HTTP.Paths {
				backend(one, &rule.HTTP.Paths[j].Backend)
			}
		}
	}
	for name := range c.named("default-backend") {
		if found[name] == nil {
			add(name, "80")
		}
	}
	if name := c.options.Provider.DefaultBackendService; name != "" && found[name] == nil {
		add(name, "80")
	}
	return found
}

// service adds a Service with a number of endpoints. Shown are its ports in answers; nil for their numbers.
func (c *cluster) service(service *corev1.Service, shown map[uint16]string, count int) error {
	name := service.Namespace + "/" + service.Name
	at := func(number int) (netip.Addr, error) {
		return c.network.assign(&host{Endpoint: Endpoint{Service: name, Number: number}, ports: shown})
	}
	if ip := service.Spec.ClusterIP; ip != corev1.ClusterIPNone && service.Spec.Type != corev1.ServiceTypeExternalName {
		own, err := at(-1)
		if err != nil {
			return err
		}
		service.Spec.ClusterIP, service.Spec.ClusterIPs = own.String(), []string{own.String()}
	}
	if err := c.add(corev1.SchemeGroupVersion.WithKind("Service"), service); err != nil {
		return err
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name + "-process",
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: &port.Name, Port: &port.Port, Protocol: new(cmp.Or(port.Protocol, corev1.ProtocolTCP)),
		})
	}
	for i := range count {
		own, err := at(i)
		if err != nil {
			return err
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{own.String()}})
	}
	return c.add(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), slice)
}
