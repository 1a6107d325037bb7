package certificates_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// route is an IngressRoute whose certificate the authority refuses.
const route = `
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: shop, namespace: default}
spec:
  entryPoints: [secure]
  routes:
    - match: Host(` + "`shop.example.com`" + `)
      kind: Rule
      services: [{name: "ping@internal", kind: TraefikService}]
  tls: {certResolver: le}
`

// The owner of an IngressRoute sees in its Events why there is no certificate, and that there is one later.
func TestFailureIsAnEvent(t *testing.T) {
	c := prepare(t)
	c.Apply(manifests(t, "kubernetes/base/role", "kubernetes/rbac", "crds/traefik.io/ingressroutes")...)
	c.Apply(route)
	f := newFixture(t, "kubernetes://sluice", byHTTP)
	if err := f.authority.Database.AddBlockedDomain("shop.example.com"); err != nil {
		t.Fatal(err)
	}
	f.setup.Static = strings.Replace(f.setup.Static, `providers: {file: {directory: "${DYNAMIC}"}}`,
		"providers: {kubernetesCRD: {}}", 1)
	f.setup.Env = []string{"KUBECONFIG=" + c.AccountKubeconfig(account), "POD_NAMESPACE=sluice"}
	harness.Start(t, f.setup)
	c.UntilAll("Event", "default", "an Event with the problem document",
		func(events []*unstructured.Unstructured) bool {
			for _, event := range events {
				message, _, _ := unstructured.NestedString(event.Object, "message")
				name, _, _ := unstructured.NestedString(event.Object, "involvedObject", "name")
				if name == "shop" && strings.Contains(message, "rejectedIdentifier") &&
					strings.Contains(message, "next attempt at") {
					return true
				}
			}
			return false
		})
}
