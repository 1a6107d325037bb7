package crd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/static"
)

// TestNames holds names that Traefik gives, which dashboards and alerts use.
func TestNames(t *testing.T) {
	tests := map[string]string{
		routerName("default", "test.route",
			"Host(`foo.com`) && PathPrefix(`/bar`)"): "default-test-route-6b204d94623b3df4370c",
		routerName("default", "test.route",
			"Host(`foo.com`) && PathPrefix(`/foo`)"): "default-test-route-77c62dfe9517144aeeaa",
		childName("default", "whoami", intstr.FromInt32(80)):           "default-whoami-80",
		childName("default", "whoami2", intstr.FromString("web-port")): "default-whoami2-web-port",
		objectName("default", "my.middleware"):                         "default-my-middleware",
		errorServiceName("default", "errorpage"):                       "default-errorpage-errorpage-service",
		authorizationServiceName("default", "sign.in"):                 "default-sign-in-externalauth-service",
		tlsName("default", "mtls"):                                     "default-mtls",
		tlsName("default", "default"):                                  "default",
		normalize("--a..b/c--"):                                        "a-b-c",
		normalize("ü1"):                                                "ü1",
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestTwoServicesOfOneNameAreNotMixedUp proves that no request is answered by another Service because names are joined
// by hyphens.
func TestTwoServicesOfOneNameAreNotMixedUp(t *testing.T) {
	c := newCluster(t, static.KubernetesCRD{})
	c.apply(service("shop", "a", corev1.ServicePort{Name: "b-c", Port: 80}), "Service", "")
	c.apply(service("shop", "a-b", corev1.ServicePort{Name: "c", Port: 80}), "Service", "")
	object := ingressRoute("web", "Path(`/`)", nil)
	one := object.Spec.Routes[0].Services[0]
	one.Name, one.Port = "a", intstr.FromString("b-c")
	other := one
	other.Name, other.Port = "a-b", intstr.FromString("c")
	object.Spec.Routes[0].Services = []v1alpha1.Service{one, other, one}
	c.apply(object, v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)
	configuration, _ := c.update()
	verdicts := configuration.Verdicts
	if len(verdicts) != 1 || verdicts[0].Ref.Name != "shop-a-b-c" || verdicts[0].Status != dynamic.Quarantined {
		t.Errorf("the verdicts are %v", verdicts)
	}
}
