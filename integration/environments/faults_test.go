package environments

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestFaultsOfKTEnv has a step for each known fault of KT-env that a cluster can show, in one namespace. Those of its
// selection and of its objects are in the other tests.
func TestFaultsOfKTEnv(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"))
	f.Deployed("shop/web-dev-x")
	f.becomes("web", "dev", "web-dev")
	t.Run("two workloads of one environment, and tags that differ in their splitter", f.likeTags)
	t.Run("a Service without a selector", f.withoutSelector)
	t.Run("ports of any name", f.anyPort)
	t.Run("pods of no workload", f.barePods)
	t.Run("another name of the header", f.otherHeader)
	t.Run("constant changes", f.churn)
	t.Run("the last pod with the label goes", f.lastPod)
}

func (f *field) on(t *testing.T) *field {
	own := *f
	own.t, own.web, own.Cluster = t, f.web.For(t), f.For(t)
	return &own
}

// likeTags: KT-env makes one subset name of dev.a, dev-a and dev_a, and of two workloads with the same tag.
func (f *field) likeTags(t *testing.T) {
	f = f.on(t)
	second := strings.ReplaceAll(deployment("web", "dev.a", "1"), "web-dev-a", "web-second")
	f.Apply(deployment("web", "dev.a", "1"), second)
	for tag, named := range map[string]string{"dev-a": "devha", "dev_a": "devua"} {
		f.Apply(strings.ReplaceAll(deployment("web", tag, "1"), "web-"+tag, "web-"+named))
	}
	f.becomes("web", "dev-a", "web-devha")
	f.becomes("web", "dev_a", "web-devua")
	seen := map[string]bool{}
	f.until("both workloads with the tag answer", func() bool {
		seen[f.answers("web", "dev.a")] = true
		return seen["web-dev-a"] && seen["web-second"]
	})
	for got := range seen {
		if got != "web-dev-a" && got != "web-second" && got != "web-dev" {
			t.Errorf("dev.a is answered by %s", got)
		}
	}
}

// withoutSelector: KT-env takes a Service with an empty selector for one of all workloads.
func (f *field) withoutSelector(t *testing.T) {
	f = f.on(t)
	address, _, _ := strings.Cut(f.Endpoints("shop/web", 5)[0], ":")
	f.Apply(strings.Replace(service("manual"), "selector: {app: manual}", "clusterIPs: [None]", 1), `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: manual-1, namespace: shop, labels: {kubernetes.io/service-name: manual}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [`+address+`], conditions: {ready: true}}]
`)
	f.until("the manual endpoint answers every tag", func() bool {
		return f.get("manual/", "dev.a").StatusCode == 200 && f.get("manual/", "none").StatusCode == 200
	})
}

// anyPort: KT-env divides ports alone whose name begins with http.
func (f *field) anyPort(t *testing.T) {
	f = f.on(t)
	f.Apply(strings.Replace(strings.Replace(service("odd"), "name: http, port: 80", "name: tcp-odd, port: 80", 1),
		"selector: {app: odd}", "selector: {app: web}", 1))
	f.becomes("odd", "dev-a", "web-devha")
	f.becomes("odd", "none", "web-dev")
}

// barePods: KT-env knows Deployments and StatefulSets.
func (f *field) barePods(t *testing.T) {
	f = f.on(t)
	f.Apply(`
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: shop, labels: {app: web, virtual-env: dev.bare}}
spec:
  containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
`)
	f.becomes("web", "dev.bare.x", "bare")
	f.DeleteNow("Pod", "shop/bare")
	f.becomes("web", "dev.bare.x", "web-dev")
}

// otherHeader: KT-env does not apply a change of the header's name.
func (f *field) otherHeader(t *testing.T) {
	f = f.on(t)
	f.Apply(virtualEnvironment("demo", strings.Replace(likeKT, "ali-env-mark", "x-other", 1)))
	f.becomes("web", "dev-a", "web-dev")
	request := f.web.Request("GET", "/", nil)
	request.Host = "web"
	request.Header.Set("X-Other", "dev-a")
	if got := workload(f.web.Send(request).Header.Get("X-Pod")); got != "web-devha" {
		t.Errorf("the new header leads to %s", got)
	}
	f.Apply(virtualEnvironment("demo", likeKT))
	f.becomes("web", "dev-a", "web-devha")
}

// churn: KT-env waits for a pause of the changes, without a limit.
func (f *field) churn(t *testing.T) {
	f = f.on(t)
	stop, changes := make(chan struct{}), sync.WaitGroup{}
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				f.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: churn-%d, namespace: shop}
spec: {clusterIP: None, selector: {app: web}, ports: [{name: http, port: %d, targetPort: 8080}]}
`, i%5, 81+i%7))
			}
		}
	})
	f.Apply(deployment("web", "dev.late", "1"))
	f.becomes("web", "dev.late", "web-dev-late")
	close(stop)
	changes.Wait()
}

// lastPod: KT-env keeps its rules when the last workload with the label goes.
func (f *field) lastPod(t *testing.T) {
	f = f.on(t)
	f.Apply(service("solo"), deployment("solo", "dev.a", "1"), deployment("solo", "", "1"))
	f.becomes("solo", "dev.a", "solo-dev-a")
	f.becomes("solo", "none", "503 Service Unavailable")
	f.Scale("shop/solo-dev-a-x", 0)
	f.becomes("solo", "none", "solo")
	f.expect("solo", "dev.a", "solo")
}
