package kubernetes

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// plain is the manifest of a Service of the namespace shop with a spec as in a manifest.
func plain(name, spec string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", namespace: shop}\nspec: " + spec + "\n"
}

// TestServices leads requests to Services of all sorts.
func TestServices(t *testing.T) {
	c := prepare(t, "traefik.io")
	c.Apply(namespace("shop"), app("shop/web"))
	s := open(t, c, static)
	tests := map[string]func(*cluster.Cluster, *gate){
		"by number and name of the port":              choosePort,
		"whose port is renamed":                       renamePort,
		"with a named targetPort":                     targetByName,
		"with their own address":                      useClusterIP,
		"with ports of the nodes":                     useNodePorts,
		"of type ExternalName":                        useExternalName,
		"of other protocols":                          speakH2C,
		"that are scaled":                             scale,
		"that come back at an old address":            reuseAddress,
		"that are deleted and made again with others": replaceService,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](c.For(t), s.on(t)) })
	}
}

const twoPorts = `
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: shop, labels: {app: two}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: web, image: web, ports: [{containerPort: 8080, name: main}, {containerPort: 9090, name: admin}]}]
`

func choosePort(c *cluster.Cluster, s *gate) {
	c.Apply(twoPorts,
		plain("two",
			"{selector: {app: two}, ports: [{name: main, port: 80, targetPort: 8080}, {name: admin, port: 81, targetPort: "+
				"9091}]}"),
		route("traefik.io", "shop/number", "number.test", "[{name: two, port: 80}]"),
		route("traefik.io", "shop/name", "name.test", "[{name: two, port: admin}]"),
		route("traefik.io", "shop/digits", "digits.test", "[{name: two, port: '80'}]"),
	)
	s.becomes("number.test/", "200 shop/two")
	s.becomes("digits.test/", "200 shop/two")
	s.becomes("name.test/", "502") // There is no listener on 9091: it is the other port.
	c.Apply(plain("two",
		"{selector: {app: two}, ports: [{name: main, port: 80, targetPort: 8080}, {name: admin, port: 81, targetPort: 9090}]}"))
	s.becomes("name.test/", "200 shop/two")
	s.expect("number.test/", "200 shop/two")
}

func renamePort(c *cluster.Cluster, s *gate) {
	renamed := func(name string) string {
		return plain("renamed", "{selector: {app: web}, ports: [{name: "+name+", port: 80, targetPort: main}]}")
	}
	c.Apply(renamed("before"),
		route("traefik.io", "shop/by-number", "by-number.test", "[{name: renamed, port: 80}]"),
		route("traefik.io", "shop/by-name", "by-name.test", "[{name: renamed, port: before}]"),
	)
	s.becomes("by-number.test/", "200 shop/web")
	s.becomes("by-name.test/", "200 shop/web")
	c.Apply(renamed("after"))
	s.becomes("by-name.test/", "503")
	s.reports("shop-by-name-", "before")
	s.becomes("by-number.test/", "200 shop/web")
	c.Apply(renamed("before"))
	s.becomes("by-name.test/", "200 shop/web")
}

// targetByName has two pods name different ports alike.
func targetByName(c *cluster.Cluster, s *gate) {
	pod := func(name string, port int) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, labels: {app: named}}\n"+
			"spec: {containers: [{name: web, image: web, ports: [{containerPort: %d, name: web}]}]}\n", name, port)
	}
	c.Apply(pod("named-a", 7001), pod("named-b", 7002),
		plain("named", "{selector: {app: named}, ports: [{port: 80, targetPort: web}]}"),
		route("traefik.io", "shop/named", "named.test", "[{name: named, port: 80}]"))
	s.shares("named.test/", map[string]int{"200 shop/named-a": 2, "200 shop/named-b": 2})
}

func useClusterIP(c *cluster.Cluster, s *gate) {
	c.Apply(plain("native", "{selector: {app: web}, ports: [{port: 80, targetPort: main}]}"),
		plain("headless", "{clusterIP: None, selector: {app: web}, ports: [{port: 8080}]}"),
		route("traefik.io", "shop/native", "native.test", "[{name: native, port: 80, nativeLB: true}]"),
		route("traefik.io", "shop/direct", "direct.test", "[{name: native, port: 80}]"),
		route("traefik.io", "shop/headless", "headless.test", "[{name: headless, port: 8080, nativeLB: true}]"),
		route("traefik.io", "shop/pods", "pods.test", "[{name: headless, port: 8080}]"),
	)
	address, _, _ := unstructured.NestedString(c.Get("Service", "shop/native").Object, "spec", "clusterIP")
	listen(s.t, net.JoinHostPort(address, "80"), "clusterIP", nil)
	s.becomes("native.test/", "200 clusterIP")
	s.becomes("direct.test/", "200 shop/web")
	s.becomes("headless.test/", "503")
	s.reports("shop-headless-", "headless")
	s.becomes("pods.test/", "200 shop/web")
	all := open(s.t, c, static, "--providers.kubernetesCRD.nativeLBByDefault")
	all.expect("direct.test/", "200 clusterIP")
}

func useNodePorts(c *cluster.Cluster, s *gate) {
	c.Apply(plain("noded", "{type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: main}]}"),
		route("traefik.io", "shop/noded", "noded.test", "[{name: noded, port: 80, nodePortLB: true}]"))
	ports, _, _ := unstructured.NestedSlice(c.Get("Service", "shop/noded").Object, "spec", "ports")
	port := strconv.FormatInt(ports[0].(map[string]any)["nodePort"].(int64), 10)
	listen(s.t, "198.51.100.2:"+port, "node-1", nil)
	listen(s.t, "198.51.100.3:"+port, "node-2", nil)
	s.shares("noded.test/", map[string]int{"200 node-1": 2})
	c.AddNode("node-2", "")
	s.shares("noded.test/", map[string]int{"200 node-1": 2, "200 node-2": 2})
	c.DeleteNow("Node", "node-2")
	s.shares("noded.test/", map[string]int{"200 node-1": 2})
}

func useExternalName(c *cluster.Cluster, s *gate) {
	address := listen(s.t, "127.0.0.1:0", "outside", nil)
	_, port, _ := net.SplitHostPort(address)
	manifest := plain("outside", "{type: ExternalName, externalName: localhost, ports: [{port: "+port+"}]}")
	c.Apply(manifest, route("traefik.io", "shop/outside", "outside.test", "[{name: outside, port: "+port+"}]"))
	s.becomes("outside.test/", "503")
	s.reports("shop-outside-", "allowExternalNameServices")
	allowed := open(s.t, c, static, "--providers.kubernetesCRD.allowExternalNameServices")
	allowed.becomes("outside.test/", "200 outside")
	c.Apply(strings.Replace(manifest, "localhost", "127.0.0.1", 1))
	allowed.becomes("outside.test/", "200 outside")
}

func speakH2C(c *cluster.Cluster, s *gate) {
	c.Apply(route("traefik.io", "shop/h2c", "h2c.test", "[{name: web, port: 80, scheme: h2c}]"))
	s.becomes("h2c.test/", "200 shop/web")
}

const scaled = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled, namespace: shop}
spec:
  selector: {matchLabels: {app: scaled}}
  template:
    metadata: {labels: {app: scaled}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]}
`

// scale goes from one pod to ten, to one, to none, and back.
func scale(c *cluster.Cluster, s *gate) {
	c.Apply(scaled, plain("scaled", "{selector: {app: scaled}, ports: [{port: 80, targetPort: 8080}]}"),
		route("traefik.io", "shop/scaled", "scaled.test", "[{name: scaled, port: 80}]"))
	for _, count := range []int{1, 10, 1, 0, 1} {
		c.Scale("shop/scaled", count)
		c.Endpoints("shop/scaled", count)
		want := max(count, 1)
		var got map[string]int
		until(s.t, func() bool {
			got = s.several("scaled.test/", 2*want)
			return len(got) == want && (count == 0) == (got["503"] == 2)
		}, func() string { return fmt.Sprintf("%d pods answer by %v%s", count, got, s.tail()) })
	}
}

// reuseAddress has another pod answer at the address of one that is gone.
func reuseAddress(c *cluster.Cluster, s *gate) {
	const address = "198.18.0.20:8080"
	c.Apply(plain("reused", "{ports: [{port: 80}]}"), slice("reused", "a", "IPv4", endpoint("198.18.0.20", "", "first")),
		route("traefik.io", "shop/reused", "reused.test", "[{name: reused, port: 80}]"))
	first := serve(s.t, address, "first", nil)
	s.becomes("reused.test/", "200 first")
	_ = first.Close()
	c.Apply(slice("reused", "a", "IPv4", endpoint("198.18.0.20", "", "second")))
	serve(s.t, address, "second", nil)
	s.becomes("reused.test/", "200 second")
}

// replaceService deletes a Service and makes one of the same name with other pods.
func replaceService(c *cluster.Cluster, s *gate) {
	c.Apply(app("shop/other"), plain("replaced", "{selector: {app: web}, ports: [{port: 80, targetPort: main}]}"),
		route("traefik.io", "shop/replaced", "replaced.test", "[{name: replaced, port: 80}]"))
	s.becomes("replaced.test/", "200 shop/web")
	c.Apply(plain("replaced", "{selector: {app: other}, ports: [{port: 80, targetPort: main}]}"))
	s.becomes("replaced.test/", "200 shop/other")
	c.DeleteNow("Service", "shop/replaced")
	s.becomes("replaced.test/", "503")
	c.Apply(plain("replaced", "{selector: {app: web}, ports: [{port: 80, targetPort: main}]}"))
	s.becomes("replaced.test/", "200 shop/web")
}
