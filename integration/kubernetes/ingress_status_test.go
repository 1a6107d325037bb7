package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// shownAt returns the load-balancer status of an Ingress, as "IP HOSTNAME" each.
func shownAt(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	var all []string
	for _, one := range list {
		fields := one.(map[string]any)
		all = append(all, strings.Trim(fmt.Sprint(fields["ip"], " ", fields["hostname"]), "<nil> "))
	}
	return strings.Join(all, ", ")
}

func becomesShownAt(c *cluster.Cluster, path, want string) {
	c.Until("Ingress.networking.k8s.io", path, "shown at "+want, func(object *unstructured.Unstructured) bool {
		return shownAt(object) == want
	})
}

const fixed = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
log: {level: DEBUG}
providers: {kubernetesIngress: {ingressEndpoint: ADDRESS}}
`

// TestIngressStatus has two Sluices read the same Ingresses. One of them writes where they are to be reached, and the
// other one takes over when it ends.
func TestIngressStatus(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(rights(t)...)
	c.Apply(namespace("shop"), app("shop/a"), class("theirs", "example.com/other", ""))
	c.Apply(classy("theirs", "theirs"))
	static := strings.Replace(fixed, "ADDRESS", "{ip: 192.0.2.7}", 1)
	first, second := open(t, c, static), open(t, c, static)
	c.Apply(ingressOf("shop/status", "", host("status.test", at("Prefix", "/", to("a")))))
	becomesShownAt(c, "shop/status", "192.0.2.7")
	object := c.Get("Ingress.networking.k8s.io", "shop/status")
	first.becomes("status.test/", "200 shop/a")
	second.becomes("status.test/", "200 shop/a")
	if got := writers(object); got != 1 {
		t.Errorf("%d have written the status", got)
	}
	forge(t, c, "shop/status", "192.0.2.99")
	becomesShownAt(c, "shop/status", "192.0.2.7")

	leader, follower := first, second
	if !strings.Contains(first.Log.String(), "this instance writes") {
		leader, follower = second, first
	}
	leader.Stop()
	follower.WaitLog("this instance writes")
	c.Apply(ingressOf("shop/later", "", host("later.test", at("Prefix", "/", to("a")))))
	becomesShownAt(c, "shop/later", "192.0.2.7")
	follower.Stop()

	c.Apply(plain("edge", "{type: LoadBalancer, ports: [{port: 80}]}"))
	open(t, c, strings.Replace(fixed, "ADDRESS", "{publishedService: shop/edge}", 1))
	publish(t, c, `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.8"},{"hostname":"edge.example.com"}]}}}`)
	becomesShownAt(c, "shop/later", "edge.example.com, 192.0.2.8")
	becomesShownAt(c, "shop/status", "edge.example.com, 192.0.2.8")
	publish(t, c, `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.9"}]}}}`)
	becomesShownAt(c, "shop/status", "192.0.2.9")
	if got := shownAt(c.Get("Ingress.networking.k8s.io", "shop/theirs")); got != "" {
		t.Errorf("an Ingress of another class is shown at %s", got)
	}
}

// writers counts the writers of an object's status.
func writers(object *unstructured.Unstructured) int {
	var count int
	for _, one := range object.GetManagedFields() {
		if one.Subresource == "status" {
			count++
		}
	}
	return count
}

// forge writes another address into the status of an Ingress.
func forge(t *testing.T, c *cluster.Cluster, path, address string) {
	t.Helper()
	namespace, name, _ := strings.Cut(path, "/")
	patch := `{"status":{"loadBalancer":{"ingress":[{"ip":"` + address + `"}]}}}`
	if _, err := c.Kubernetes.NetworkingV1().Ingresses(namespace).Patch(t.Context(), name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// publish writes the status of the Service shop/edge, as the controller of a load balancer does.
func publish(t *testing.T, c *cluster.Cluster, patch string) {
	t.Helper()
	if _, err := c.Kubernetes.CoreV1().Services("shop").Patch(t.Context(), "edge", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}
