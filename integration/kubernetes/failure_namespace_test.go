package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// namespaceIsDeleted deletes a namespace beside one under load. Its routes are removed; others are not affected.
func namespaceIsDeleted(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("calm"), namespace("blog"), polite("calm/still"), polite("blog/post"), polite("blog/talk"))
	c.Apply(ingress("blog", "old.test", "post"))
	for _, one := range []string{"calm/still", "blog/post", "blog/talk"} {
		c.Deployed(one)
	}
	c.Scale("calm/still", 2)
	g := open(t, c, static)
	hosts := []string{"post.test", "talk.test", "old.test"}
	for _, host := range hosts {
		g.serves(host)
	}
	l := press(t, g, "still.test")
	l.spread(2)
	c.Delete(namespace("blog"))
	for _, host := range hosts {
		g.becomes(host+"/", "404")
	}
	l.spread(2)
	g.Until("nothing is wrong with what is left", func(r harness.Readiness) bool { return len(r.Verdicts) == 0 })

	// The same names come again, and are what they are now.
	c.Apply(namespace("blog"), polite("blog/post"))
	c.Deployed("blog/post")
	g.serves("post.test")
	g.expect("talk.test/", "404")
	l.end()
	for line := range strings.Lines(g.Log.String()) {
		if strings.Contains(line, "level=error") || strings.Contains(line, "level=warning") &&
			strings.Contains(line, "writing to Kubernetes fails") {
			t.Errorf("the log has %s", line)
		}
	}
}

// ingress is the manifest of an Ingress from a host to port 80 of a Service.
func ingress(namespace, host, service string) string {
	return fmt.Sprintf(`
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %[3]s, namespace: %[1]s}
spec: {rules: [{host: %[2]s, http: {paths: [{path: /, pathType: Prefix,
  backend: {service: {name: %[3]s, port: {number: 80}}}}]}}]}
`, namespace, host, service)
}
