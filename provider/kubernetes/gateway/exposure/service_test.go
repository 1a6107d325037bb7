package exposure_test

import (
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/exposure"
	"github.com/sluiceproxy/sluice/static"
)

// serviceOf returns the Service that names a Gateway in its label.
func (s *apiServer) serviceOf(name string) *corev1.Service {
	for service := range s.services.All() {
		if service.Labels[gatewayv1.GatewayNameLabelKey] == name {
			return service
		}
	}
	return nil
}

// there has reads of a name answered with an object; nil is none.
func (s *apiServer) there(name string, object any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.others[name] = object; object == nil {
		delete(s.others, name)
	}
}

// assign gives the load balancer of a Gateway an address.
func (s *apiServer) assign(name, ip string) {
	service := s.serviceOf(name).DeepCopy()
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	s.services.put(service)
}

func (s *apiServer) addPod(name, ip string, ready corev1.ConditionStatus) {
	s.pods.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sluice-system", Name: name},
		Spec:       corev1.PodSpec{NodeName: "node-" + name},
		Status: corev1.PodStatus{
			PodIPs: []corev1.PodIP{{IP: ip}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	})
}

// TestAServiceForEachGateway proves what the Service of a Gateway and its endpoints are, and that all instances listen
// on the ports that it records, from when it records them.
func TestAServiceForEachGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		server.addPod("one", "10.1.0.1", corev1.ConditionTrue)
		server.addPod("two", "10.1.0.2", corev1.ConditionFalse)
		server.addPod("six", "fd00::1", corev1.ConditionTrue)
		options := config(static.ExposeByService)
		leader, follower := newRig(t, server, options), newRig(t, server, options)
		edge, inner := made("edge", 0), made("inner", 1)
		edge.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{
			Labels:      map[gatewayv1.LabelKey]gatewayv1.LabelValue{"team": "shop"},
			Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"lb.example/internal": "true"},
		}
		for _, r := range []*rig{leader, follower} {
			r.expose(inner, web)
			r.expose(edge, web, https, quic)
		}
		if got := leader.binding(edge, web); got != "unknown" {
			t.Errorf("before there is a Service, a Gateway is bound to %s", got)
		}
		leader.lead()
		pass(time.Second)
		service := server.serviceOf("edge")
		if service == nil {
			t.Fatal("no Service")
		}
		if service.Namespace != "shop" || service.Labels["team"] != "shop" ||
			service.Annotations["lb.example/internal"] != "true" || len(service.OwnerReferences) != 1 ||
			service.OwnerReferences[0].UID != edge.UID || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			t.Errorf("Service %+v", service)
		}
		var ports []string
		for _, port := range service.Spec.Ports {
			ports = append(ports, fmt.Sprint(port.Name, " ", port.Port, "/", port.Protocol, ">", port.TargetPort.String()))
		}
		want := []string{"tcp-80 80/TCP>20000", "tcp-443 443/TCP>20001", "udp-443 443/UDP>20000"}
		if diff := cmp.Diff(want, ports); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
		for _, r := range []*rig{leader, follower} {
			if got := r.binding(edge, https); got != ":20001" {
				t.Errorf("bound to %s", got)
			}
			if got := r.binding(inner, web); got != ":20002" {
				t.Errorf("the other Gateway is bound to %s", got)
			}
			if got := r.addresses(edge); got != "AddressNotAssigned" {
				t.Errorf("addresses %s", got)
			}
		}
		slice := server.slices[service.Namespace+"/"+service.Name+"-ipv4"]
		if slice == nil || len(slice.Endpoints) != 2 || !*slice.Endpoints[0].Conditions.Ready ||
			*slice.Endpoints[1].Conditions.Ready || slice.Labels["kubernetes.io/service-name"] != service.Name ||
			len(slice.Ports) != 3 || *slice.Ports[0].Port != 20000 || slice.OwnerReferences[0].UID != service.UID {
			t.Errorf("EndpointSlice %+v", slice)
		}
		if server.slices[service.Namespace+"/"+service.Name+"-ipv6"] == nil {
			t.Error("no EndpointSlice for IPv6")
		}
		server.assign("edge", "203.0.113.7")
		if got := follower.addresses(edge); got != "203.0.113.7" {
			t.Errorf("addresses %s", got)
		}
		n := server.count("PATCH")
		pass(5 * time.Minute)
		if more := server.count("PATCH") - n; more != 0 {
			t.Errorf("%d further requests without a change", more)
		}
		server.addPod("two", "10.1.0.2", corev1.ConditionTrue)
		pass(time.Second)
		if !*server.slices[service.Namespace+"/"+service.Name+"-ipv4"].Endpoints[1].Conditions.Ready {
			t.Error("a pod that has become ready is not an endpoint")
		}
	})
}

// TestPortsStay proves that private ports stay when Gateways come and go, when another instance leads, and when a
// Service is created anew, and that free ones are used again.
func TestPortsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		options := config(static.ExposeByService)
		options.Service.LastPort = options.Service.FirstPort + 3
		first, second, third := made("first", 5), made("second", 6), made("third", 7)
		before := newRig(t, server, options)
		stop := before.lead()
		for _, one := range []*gatewayv1.Gateway{first, second, third} {
			before.expose(one, web)
		}
		pass(time.Second)
		stop()
		r := newRig(t, server, options)
		r.lead()
		oldest := made("oldest", 0)
		for _, one := range []*gatewayv1.Gateway{third, oldest, first} {
			r.expose(one, web)
		}
		server.there("second", second)
		pass(time.Second)
		for one, want := range map[*gatewayv1.Gateway]string{first: ":20000", third: ":20002", oldest: ":20003"} {
			if got := r.binding(one, web); got != want {
				t.Errorf("%s is bound to %s, want %s", one.Name, got, want)
			}
		}
		server.there("second", nil)
		pass(3 * time.Minute)
		if server.serviceOf("second") != nil {
			t.Error("the Service of a Gateway that is gone stays")
		}
		r.expose(made("new", 9), web)
		pass(time.Second)
		if got := r.binding(made("new", 9), web); got != ":20001" {
			t.Errorf("a new Gateway is bound to %s", got)
		}
		full := made("full", 10)
		r.expose(full, web)
		pass(time.Second)
		if answer := r.all()["shop/full"]; answer.Refusal == nil || !strings.Contains(answer.Refusal.Message, "in use") {
			t.Errorf("without a free port: %+v", answer)
		}
		server.services.drop("shop/" + server.serviceOf("first").Name)
		pass(time.Minute)
		if got := r.binding(first, web); got != ":20000" {
			t.Errorf("with a new Service, a Gateway is bound to %s", got)
		}
	})
}

// TestForeignServicesStay proves that no Service is deleted while its Gateway is there but not known, or unreadable.
func TestForeignServicesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		options := config(static.ExposeByService)
		one := made("edge", 0)
		one.Spec.GatewayClassName = "sluice"
		before := newRig(t, server, options)
		stop := before.lead()
		before.expose(one, web)
		pass(time.Second)
		stop()
		class := &gatewayv1.GatewayClass{Spec: gatewayv1.GatewayClassSpec{
			ControllerName: gatewayv1.GatewayController(options.ControllerName),
		}}
		server.there("edge", one)
		server.there("sluice", class)
		r := newRig(t, server, options)
		r.lead()
		pass(10 * time.Minute)
		if server.serviceOf("edge") == nil {
			t.Fatal("the Service of a Gateway that is not known yet is deleted")
		}
		other := class.DeepCopy()
		other.Spec.ControllerName = "other.example/x"
		server.there("sluice", other)
		pass(10 * time.Minute)
		if server.serviceOf("edge") != nil {
			t.Error("the Service of a Gateway that is another controller's stays")
		}
	})
}

// TestRefusedService proves that a Gateway says that the API server refuses its Service, and gets it when that accepts
// it.
func TestRefusedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		refusing := true
		server.refuse = func(*corev1.Service) int {
			server.mu.Lock()
			defer server.mu.Unlock()
			if refusing {
				return nethttp.StatusUnprocessableEntity
			}
			return 0
		}
		options := config(static.ExposeByService)
		options.Service.Type = "ClusterIP"
		r := newRig(t, server, options)
		r.lead()
		one, other := made("edge", 0, "10.0.0.1"), made("other", 1)
		r.expose(one, web)
		r.expose(other, web)
		pass(10 * time.Second)
		if got := r.addresses(one); got != "AddressNotUsable" {
			t.Errorf("addresses %s", got)
		}
		if got := r.addresses(other); got != "AddressNotAssigned" {
			t.Errorf("addresses %s", got)
		}
		if n := server.count("PATCH"); n != 2 {
			t.Errorf("%d requests", n)
		}
		server.mu.Lock()
		refusing = false
		server.mu.Unlock()
		pass(2 * time.Minute)
		if got := r.addresses(one); got != "10.0.0.1" {
			t.Errorf("addresses %s", got)
		}
	})
}

// TestMergedService proves that merged Gateways share one Service in the namespace of Sluice, and that a leader without
// Gateways does not delete it.
func TestMergedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		options := config(static.ExposeByService)
		options.MergeGateways = true
		r := newRig(t, server, options)
		stop := r.lead()
		first, second := made("first", 0), made("second", 1)
		r.expose(first, web)
		r.expose(second, web, https)
		pass(time.Second)
		names := server.services.names()
		if len(names) != 1 || !strings.HasPrefix(names[0], "sluice-system/sluice-gateways-") {
			t.Fatalf("Services %v", names)
		}
		if one, other := r.binding(first, web), r.binding(second, web); one != ":20000" || one != other {
			t.Errorf("bound to %s and %s", one, other)
		}
		stop()
		next := newRig(t, server, options)
		next.lead()
		pass(5 * time.Minute)
		if len(server.services.names()) != 1 {
			t.Error("the Service is deleted")
		}
	})
}

// TestLongNames proves that the names of Services and labels are valid whatever the name of the Gateway is.
func TestLongNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, config(static.ExposeByService))
		r.lead()
		names := []string{
			strings.Repeat("a", 253), strings.Repeat("a", 252) + "b", "a.b", "a-b", "1", strings.Repeat("a.", 126) + "a",
			strings.Repeat("a", 46) + ".b", strings.Repeat("a", 63), strings.Repeat("a", 54) + "." + strings.Repeat("b", 63),
		}
		for i, name := range names {
			r.expose(made(name, i), web)
		}
		pass(time.Second)
		services := server.services.names()
		if len(services) != len(names) {
			t.Errorf("%d Services for %d Gateways: %v", len(services), len(names), services)
		}
		for service := range server.services.All() {
			if wrong := validation.IsDNS1035Label(service.Name); len(wrong) > 0 {
				t.Errorf("%s: %v", service.Name, wrong)
			}
			if wrong := validation.IsValidLabelValue(service.Labels[gatewayv1.GatewayNameLabelKey]); len(wrong) > 0 {
				t.Errorf("%v: %v", service.Labels, wrong)
			}
		}
	})
}

// TestCarriers proves that labels and annotations of a Gateway are on a Service of its own with other exposures too, as
// long as it demands them.
func TestCarriers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, config(static.ExposeByPool, "192.0.2.1"))
		r.lead()
		plain, demanding := made("plain", 0), made("demanding", 1)
		demanding.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{
			Labels: map[gatewayv1.LabelKey]gatewayv1.LabelValue{"team": "shop"},
		}
		r.expose(plain, web)
		r.expose(demanding, web)
		pass(time.Second)
		if service := server.serviceOf("demanding"); service == nil || service.Labels["team"] != "shop" ||
			service.Spec.ClusterIP != corev1.ClusterIPNone || service.Labels[exposure.LabelInstallation] == "" {
			t.Errorf("Service %+v", service)
		}
		if len(server.services.names()) != 1 {
			t.Errorf("Services %v", server.services.names())
		}
		demanding = demanding.DeepCopy()
		demanding.Spec.Infrastructure = nil
		r.expose(demanding, web)
		pass(time.Second)
		if len(server.services.names()) != 0 {
			t.Errorf("Services %v", server.services.names())
		}
	})
}

// TestAnswersOfEqualPorts proves that a port that two Services record is that of the older Gateway, on every instance.
func TestAnswersOfEqualPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		options := config(static.ExposeByService)
		r := newRig(t, server, options)
		r.lead()
		older, newer := made("older", 0), made("newer", 1)
		r.expose(older, web)
		r.expose(newer, web)
		pass(time.Second)
		edited := server.serviceOf("newer").DeepCopy()
		edited.Spec.Ports[0].TargetPort.IntVal = 20000
		server.services.put(edited)
		follower := newRig(t, server, options)
		follower.expose(newer, web)
		follower.expose(older, web)
		if one, other := follower.binding(older, web), follower.binding(newer, web); one != ":20000" || other != "unknown" {
			t.Errorf("bound to %s and %s", one, other)
		}
		pass(15 * time.Second)
		if got := follower.binding(newer, gateway.Port{Number: 80, Protocol: corev1.ProtocolTCP}); got != ":20001" {
			t.Errorf("the newer Gateway is bound to %s", got)
		}
	})
}
