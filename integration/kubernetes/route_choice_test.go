package kubernetes

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// readSome starts one Sluice for each way of selecting objects, all with the same objects.
func readSome(c *cluster.Cluster, s *gate) {
	c.Apply(namespace("choice"), app("choice/web"),
		route("traefik.io", "choice/plain", "choice.test", "[{name: web, port: 80}]"),
		strings.Replace(route("traefik.io", "choice/labelled", "labelled.test", "[{name: web, port: 80}]"), "namespace:",
			"labels: {side: left}, namespace:", 1),
		strings.Replace(route("traefik.io", "choice/class", "class.test", "[{name: web, port: 80}]"), "spec:",
			"spec:\n  ingressClassName: inner", 1),
		strings.Replace(route("traefik.containo.us", "choice/annotated", "annotated.test", "[{name: web, port: 80}]"),
			"namespace:",
			"annotations: {kubernetes.io/ingress.class: inner}, namespace:", 1),
		route("traefik.io", "shop/other", "other.test", "[{name: a, port: 80}]"),
	)
	const own, foreign, none = "200 choice/web", "200 shop/a", "404"
	tests := []struct {
		name, option string
		want         map[string]string // by host
	}{
		{"all of no class", "", map[string]string{
			"choice.test": own, "labelled.test": own, "class.test": none, "annotated.test": none, "other.test": foreign,
		}},
		{"one namespace", "namespaces=choice", map[string]string{
			"choice.test": own, "labelled.test": own, "class.test": none, "annotated.test": none, "other.test": none,
		}},
		{"two namespaces", "namespaces=choice,shop", map[string]string{
			"choice.test": own, "labelled.test": own, "class.test": none, "annotated.test": none, "other.test": foreign,
		}},
		{"some labels", "labelSelector=side in (left,right)", map[string]string{
			"choice.test": none, "labelled.test": own, "class.test": none, "annotated.test": none, "other.test": none,
		}},
		{"one class", "ingressClass=inner", map[string]string{
			"choice.test": none, "labelled.test": none, "class.test": own, "annotated.test": own, "other.test": none,
		}},
	}
	for _, test := range tests {
		s.t.(*testing.T).Run(test.name, func(t *testing.T) {
			chosen := s.on(t)
			if test.option != "" {
				chosen = open(t, c.For(t), static, "--providers.kubernetesCRD."+test.option)
			}
			for host, want := range test.want {
				if test.option == "" {
					chosen.becomes(host+"/", want)
				}
				chosen.expect(host+"/", want)
			}
		})
	}
}
