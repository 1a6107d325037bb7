package exposure_test

import (
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/static"
)

// shared returns the Service that merged Gateways share.
func (s *apiServer) shared() *corev1.Service {
	for service := range s.services.All() {
		return service.DeepCopy()
	}
	return &corev1.Service{}
}

// TestNoGatewayChoosesTheAddressOfAll proves that the address that one of the merged Gateways demands is not demanded
// of the cluster for all of them, with each type of Service, and is used where they have it anyway.
func TestNoGatewayChoosesTheAddressOfAll(t *testing.T) {
	for _, kind := range []string{"LoadBalancer", "ClusterIP"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newAPIServer(t)
				options := config(static.ExposeByService)
				options.MergeGateways, options.Service.Type = true, kind
				r := newRig(t, server, options)
				r.lead()
				demanding, same, plain := made("demanding", 0, "10.0.0.9"), made("same", 1, "10.0.0.1"), made("plain", 2)
				for _, one := range []*gatewayv1.Gateway{demanding, same, plain} {
					r.expose(one, web)
				}
				pass(time.Second)
				service := server.shared()
				if service.Spec.LoadBalancerIP != "" || service.Spec.ClusterIP != "10.0.0.1" {
					t.Errorf("the Service has the addresses %q and %q", service.Spec.LoadBalancerIP, service.Spec.ClusterIP)
				}
				service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
				server.services.put(service)
				for one, want := range map[string]string{
					"demanding": "AddressNotUsable", "same": "10.0.0.1", "plain": "10.0.0.1",
				} {
					if got := r.addresses(made(one, 0)); got != want {
						t.Errorf("%s has %s, want %s", one, got, want)
					}
				}
			})
		})
	}
}

// TestARefusedChangeKeepsAddresses proves that Gateways keep the addresses and ports of a Service whose change the API
// server refuses, and that the port that is missing says why.
func TestARefusedChangeKeepsAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		var refusing atomic.Bool
		server.refuse = func(*corev1.Service) int {
			if refusing.Load() {
				return nethttp.StatusUnprocessableEntity
			}
			return 0
		}
		options := config(static.ExposeByService)
		options.MergeGateways, options.Service.Type = true, "ClusterIP"
		r := newRig(t, server, options)
		r.lead()
		first := made("first", 0)
		r.expose(first, web)
		pass(time.Second)
		refusing.Store(true)
		second := made("second", 1)
		r.expose(second, web, https)
		pass(time.Second)
		for _, one := range []string{"first", "second"} {
			if got := r.addresses(made(one, 0)); got != "10.0.0.1" {
				t.Errorf("%s has %s", one, got)
			}
			if got := r.binding(made(one, 0), web); got != ":20000" {
				t.Errorf("%s is bound to %s", one, got)
			}
		}
		missing := r.all()["shop/second"].Bindings[gateway.Port{Number: 443, Protocol: corev1.ProtocolTCP}]
		if missing.Refusal == nil || missing.Refusal.Reason != "Pending" ||
			!strings.Contains(missing.Refusal.Message, "is refused") {
			t.Errorf("the port that the Service does not have: %+v", missing)
		}
		refusing.Store(false)
		pass(2 * time.Minute)
		if got := r.binding(second, https); got != ":20001" {
			t.Errorf("once the Service is accepted, bound to %s", got)
		}
	})
}
