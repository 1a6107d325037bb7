package crd

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/static"
)

// manyRoutes is an IngressRoute with routes that have names in common.
func manyRoutes(routes, entryPoints, sans int) *v1alpha1.IngressRoute {
	object := ingressRoute("many", "", nil)
	first := object.Spec.Routes[0]
	object.Spec.Routes = nil
	for i := range routes {
		first.Match = "Path(`/" + strconv.Itoa(i) + "`)"
		object.Spec.Routes = append(object.Spec.Routes, first)
	}
	for i := range entryPoints {
		object.Spec.EntryPoints = append(object.Spec.EntryPoints, "e"+strconv.Itoa(i))
	}
	object.Spec.TLS = &v1alpha1.TLS{
		SecretName: strings.Repeat("s", 100_000),
		Domains:    []v1alpha1.Domain{{Main: "shop.example", SANs: make([]string, sans)}},
	}
	return object
}

// TestObjectsCostTheirSize proves that a megabyte of manifest does not become gigabytes of configuration.
func TestObjectsCostTheirSize(t *testing.T) {
	for _, test := range []struct{ routes, entryPoints, sans, want int }{
		{2000, 3, 5, 2000},
		{1000, 98, 1, 1000},
		{1000, 99, 1, 0},
		{1000, 0, 100, 0},
		{20_000, 0, 3, 20_000},
	} {
		c := newCluster(t, static.KubernetesCRD{})
		c.apply(manyRoutes(test.routes, test.entryPoints, test.sans), v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)
		configuration, _ := c.update()
		if got := configuration.HTTP.Routers.Len(); got != test.want {
			t.Errorf("%+v: %d routers", test, got)
		}
		said := 0
		for _, verdict := range configuration.Verdicts {
			said = max(said, len(verdict.Reason))
		}
		if said == 0 || said > 2000 {
			t.Errorf("%+v: the longest reason has %d bytes", test, said)
		}
	}
}

// TestPortsOfAServiceAreNotListedWithoutEnd proves that a Service with many ports costs each reference to it little.
func TestPortsOfAServiceAreNotListedWithoutEnd(t *testing.T) {
	many := make([]corev1.ServicePort, 50_000)
	for i := range many {
		many[i] = corev1.ServicePort{Name: "port-" + strconv.Itoa(i), Port: int32(i + 1)}
	}
	c := newCluster(t, static.KubernetesCRD{})
	c.apply(service("shop", "web", many...), "Service", "")
	object := ingressRoute("web", "Path(`/`)", nil)
	object.Spec.Routes[0].Services[0].Port = intstr.FromString("absent")
	c.apply(object, v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)
	configuration, _ := c.update()
	reason := configuration.Verdicts[0].Reason
	if len(reason) > 300 || !strings.HasSuffix(reason, "10 (port-9), 49990 more") {
		t.Errorf("the reason is %q", reason)
	}
}

// TestSecretsAreReadOnce proves that an object that names one Secret again and again holds it once.
func TestSecretsAreReadOnce(t *testing.T) {
	set := newManifestSet()
	set.secrets["shop/ca"] = &corev1.Secret{Data: map[string][]byte{
		"ca.crt": []byte(testCertificate()["$CERT"]), "tls.crt": []byte(testCertificate()["$CERT"]),
		"tls.key": []byte(testCertificate()["$KEY"]),
	}}
	const often = `["ca","ca","absent","ca","absent"]`
	for i, manifest := range []string{
		`"kind":"ServersTransport","spec":{"rootCAsSecrets":` + often + `}`,
		`"kind":"ServersTransport","spec":{"rootCAs":[{"secret":"ca"},{"secret":"ca"},{"secret":"absent"},{"secret":"absent"}]}`,
		`"kind":"ServersTransport","spec":{"certificatesSecrets":` + often + `}`,
		`"kind":"TLSOption","spec":{"clientAuth":{"secretNames":` + often + `}}`,
	} {
		set.add(t, fmt.Appendf(nil, `{"apiVersion":"traefik.io/v1alpha1","metadata":{"namespace":"shop","name":"a"},%s}`,
			manifest), nil)
		result := set.convert(t, i)
		held := 0
		for _, transport := range declared[dynamic.ServersTransport](result) {
			held = len(transport.RootCAs) + len(transport.Certificates)
		}
		for _, options := range declared[dynamic.TLSOptions](result) {
			held = len(options.ClientAuth.CAFiles)
		}
		if held != 1 || len(result.Verdicts) != 1 {
			t.Errorf("%s: %d are held, with the verdicts %v", manifest, held, result.Verdicts)
		}
	}
}
