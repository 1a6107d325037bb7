package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// shop is a namespace with a Deployment of 3 and its Service. %s are the annotations of its pods, as JSON.
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
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web}, annotations: %s}
    spec:
      terminationGracePeriodSeconds: 5
      containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`

func deploy(c *Cluster, annotations string) {
	c.t.Helper()
	c.Apply(fmt.Sprintf(shop, annotations))
	c.Deployed("shop/web")
}

// get sends a request to a pod's address and returns the response.
func get(ctx context.Context, client http.RoundTripper, address, query string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "8080")+"/"+query,
		nil)
	if err != nil {
		return "", err
	}
	response, err := client.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // It is read.
	text, err := io.ReadAll(response.Body)
	return strings.TrimSpace(string(text)), err
}

func client(t *testing.T) *http.Transport {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func TestDeploymentIsScaledAndRolled(t *testing.T) {
	c := Start(t)
	c.AddNode("node-2", "west")
	deploy(c, `{test.sluice.dev/ready-after: 50ms}`)
	asker := client(t)
	names := func(count int) []string {
		var found []string
		for _, address := range c.Endpoints("shop/web", count) {
			name, err := get(t.Context(), asker, address, "")
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, name)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	before := names(3)
	if len(before) != 3 || !strings.HasPrefix(before[0], "shop/web-") {
		t.Fatalf("the endpoints are the pods %q", before)
	}
	c.Rollout("shop/web")
	after := names(3)
	if len(after) != 3 || slices.ContainsFunc(after, func(name string) bool { return slices.Contains(before, name) }) {
		t.Errorf("a rollout leaves %q of %q", after, before)
	}
	for _, count := range []int{6, 1, 0} {
		c.Scale("shop/web", count)
		if got := names(count); len(got) != count {
			t.Errorf("%d replicas are the pods %q", count, got)
		}
	}
}

func TestPodsSpreadOverNodes(t *testing.T) {
	c := Start(t)
	c.AddNode("node-2", "west")
	c.Apply(fmt.Sprintf(shop, "{}"))
	c.Scale("shop/web", 4)
	pods, err := c.Kubernetes.CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, pod := range pods.Items {
		count[pod.Spec.NodeName]++
		if len(pod.Status.PodIPs) != 2 || pod.Status.HostIP == "" {
			t.Errorf("pod %s has the addresses %v on %s", pod.Name, pod.Status.PodIPs, pod.Status.HostIP)
		}
	}
	if count["node-1"] != 2 || count["node-2"] != 2 {
		t.Errorf("pods by node: %v", count)
	}
}

// TestAPIGoesAndComes takes the control plane away and finds its data and its pods as they were.
func TestAPIGoesAndComes(t *testing.T) {
	c := Start(t)
	deploy(c, "{}")
	address := c.Endpoints("shop/web", 3)[0]
	asker := client(t)
	c.StopAPI()
	if _, err := c.Kubernetes.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a stopped API server answers")
	}
	if _, err := get(t.Context(), asker, address, ""); err != nil {
		t.Errorf("a pod went with the API server: %v", err)
	}
	c.StartAPI()
	if got := c.Endpoints("shop/web", 3)[0]; got != address {
		t.Errorf("the first endpoint is %s now, and was %s", got, address)
	}
	c.Scale("shop/web", 1)
	c.Endpoints("shop/web", 1)
}

const reader = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [services], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
`

func TestRolesAreHeeded(t *testing.T) {
	c := Start(t)
	c.Apply(reader)
	account := c.As(c.AccountToken("reader"))
	if _, err := account.CoreV1().Services("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("what the role allows: %v", err)
	}
	if _, err := account.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("what the role does not allow: %v", err)
	}
	if text, err := os.ReadFile(c.AccountKubeconfig("default/reader")); err != nil || !strings.Contains(string(text),
		c.Endpoint) {
		t.Errorf("kubeconfig: %v\n%s", err, text)
	}
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.test.sluice.dev}
spec:
  group: test.sluice.dev
  names: {kind: Gate, plural: gates, singular: gate, listKind: GateList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true,
      schema: {openAPIV3Schema: {type: object, properties: {wide: {type: boolean}}}}}
---
apiVersion: test.sluice.dev/v1
kind: Gate
metadata: {name: north, finalizers: [test.sluice.dev/nobody]}
wide: true
`

// TestTheNextTestFindsNothing leaves all sorts of things behind and looks for them.
func TestTheNextTestFindsNothing(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		c := Start(t)
		c.Apply(definition, reader)
		deploy(c, `{test.sluice.dev/drain: 1h}`)
		if wide := c.Get("Gate", "north").Object["wide"]; wide != true {
			t.Errorf("a custom object lost its field: %v", wide)
		}
		if _, err := c.TryApply(strings.Replace(definition[strings.Index(definition, "---"):], "wide: true", "wide: many",
			1)); err == nil {
			t.Error("a custom object against its schema was taken")
		}
		c.Delete("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}")
		c.StopAPI()
	})
	t.Run("other", func(t *testing.T) {
		c := Start(t)
		for _, lost := range [][2]string{
			{"Namespace", "shop"},
			{"ServiceAccount", "reader"},
			{"ClusterRole", "reader"},
			{"Deployment", "shop/web"},
			{"CustomResourceDefinition", "gates.test.sluice.dev"},
		} {
			if object := c.Get(lost[0], lost[1]); object != nil {
				t.Errorf("%s %s is still there", lost[0], lost[1])
			}
		}
		if pods := c.UntilAll("Pod", "", "listed", func([]*unstructured.Unstructured) bool { return true }); len(pods) > 0 {
			t.Errorf("%d pods are still there", len(pods))
		}
		deploy(c, "{}") // The namespace can be had again at once.
		var crowd strings.Builder
		for i := range many + 1 {
			fmt.Fprintf(&crowd, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: crowd-%d}}\n", i)
		}
		c.Apply(crowd.String())
	})
	t.Run("after a crowd", func(t *testing.T) {
		c := Start(t)
		if object := c.Get("ConfigMap", "crowd-1"); object != nil {
			t.Error("ConfigMap crowd-1 is still there")
		}
		deploy(c, "{}")
	})
}

const static = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

// TestSluiceReachesPods starts Sluice in the namespace of the cluster.
func TestSluiceReachesPods(t *testing.T) {
	c := Start(t)
	deploy(c, "{}")
	address := c.Endpoints("shop/web", 3)[0]
	s := harness.Start(t, harness.Setup{
		Static: static, Vars: map[string]string{"POD": address},
		Dynamic: map[string]string{"all.yaml": `
http:
  routers: {all: {rule: "PathPrefix(` + "`/`" + `)", service: pod}}
  services: {pod: {loadBalancer: {servers: [{url: "http://${POD}:8080"}]}}}
`},
	})
	answer := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil).Get("/")
	if !strings.HasPrefix(answer.Header.Get("X-Pod"), "shop/web-") {
		t.Errorf("status %d from pod %q", answer.StatusCode, answer.Header.Get("X-Pod"))
	}
}
