package kubernetes

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// shop is a Deployment with its Service.
const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - {name: web, image: web, ports: [{containerPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// TestOldArticle applies a manifest as articles about Traefik 2 show it.
func TestOldArticle(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(rights(t)...)
	c.Apply(crds(t, "traefik.containo.us")...)
	c.Apply(shop, `
apiVersion: traefik.containo.us/v1alpha1
kind: IngressRoute
metadata: {name: dashboard, namespace: shop}
spec:
  entryPoints: [web]
  routes:
  - match: PathPrefix(`+"`/dashboard`) || PathPrefix(`/api`"+`)
    kind: Rule
    services: [{name: web, port: 80}]
`)
	c.Deployed("shop/web")
	c.Endpoints("shop/web", 3)
	s := open(t, c, static)
	pods := map[string]bool{}
	for range 6 {
		answer := s.get("any.test/api/version")
		if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("X-Pod"), "shop/web-") {
			t.Fatalf("status %d from pod %q", answer.StatusCode, answer.Header.Get("X-Pod"))
		}
		pods[answer.Header.Get("X-Pod")] = true
	}
	if len(pods) != 3 {
		t.Errorf("answers came from %v, want all 3 pods", pods)
	}
	s.expect("any.test/other", "404")
}
