package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/cluster/node"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// handedOver are the values with which a new pod takes over from the old one of its node.
func handedOver(more ...string) []string {
	return append([]string{
		`handover.enabled=true`, `hostNetwork=true`, `ports.web.port=80`, `ports.websecure.port=443`,
		`ports.traefik.hostIP="127.0.0.1"`, `podSecurityContext={"runAsUser":0,"runAsGroup":0,"runAsNonRoot":false}`,
		`securityContext={"runAsNonRoot":false,"capabilities":{"add":["NET_BIND_SERVICE"]}}`,
	}, more...)
}

// TestChartHandsOver sees what two pods of a node need, and what each leaves out.
func TestChartHandsOver(t *testing.T) {
	tests := map[string]variant{
		"both pods": {
			handedOver(), func(t *testing.T, all objects) any {
				p, set := pod(t, all), all.the(t, "DaemonSet")
				return said(p.at("hostNetwork"), p.at("containers", 0, "ports"),
					set.at("spec", "updateStrategy", "rollingUpdate", "maxSurge"),
					set.at("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"))
			}, "true <nil> 1 0",
		},
		"their directory": {
			handedOver(), func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("volumes", 1, "hostPath", "path"), p.at("volumes", 1, "hostPath", "type"),
					p.at("containers", 0, "volumeMounts", 1, "mountPath"), p.at("securityContext", "runAsUser"),
					p.at("containers", 0, "securityContext", "runAsNonRoot"),
					p.at("containers", 0, "securityContext", "capabilities"))
			}, "/run/sluice-pods/sluice/sluice DirectoryOrCreate /run/sluice 0 false map[add:[NET_BIND_SERVICE] drop:[ALL]]",
		},
		"a directory for another user": {
			[]string{
				`handover={"enabled":true,"directory":{"path":"/var/lib/edge","type":"Directory"}}`, `hostNetwork=true`,
				`ports.traefik.hostIP="127.0.0.1"`,
			}, func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("volumes", 1, "hostPath", "path"), p.at("volumes", 1, "hostPath", "type"),
					p.at("securityContext", "runAsUser"), p.at("securityContext", "runAsNonRoot"))
			}, "/var/lib/edge Directory 65532 true",
		},
		"the options": {
			handedOver(`handover.drain=60`), func(t *testing.T, all objects) any {
				return said(configuration(t, all).at("handover"), pod(t, all).at("terminationGracePeriodSeconds"))
			}, "map[drain:60s socket:/run/sluice/sluice.sock stay:true] 65",
		},
		"options that load": {
			handedOver(), func(t *testing.T, all objects) any {
				loaded := load(t, all).Handover
				return said(loaded.Socket, time.Duration(loaded.Drain), loaded.Stay)
			}, "/run/sluice/sluice.sock 5m0s true",
		},
		"a longer life": {
			handedOver(`handover.drain=0`), func(t *testing.T, all objects) any {
				return pod(t, all).at("terminationGracePeriodSeconds")
			}, 45,
		},
		"options that stay": {
			handedOver(), func(t *testing.T, all objects) any {
				mount := pod(t, all).list("containers", 0, "volumeMounts")[0]
				return said(mount.text("mountPath"), mount.text("subPath"))
			}, "/etc/sluice/sluice.yaml sluice.yaml",
		},
		"probes": {
			handedOver(`args=["--log.level=DEBUG"]`, `startupProbe={"failureThreshold":30}`),
			func(t *testing.T, all objects) any {
				container := pod(t, all).list("containers")[0]
				return said(container.words("readinessProbe", "exec", "command"), container.at("readinessProbe", "periodSeconds"),
					container.at("readinessProbe", "httpGet"), len(container.words("startupProbe", "exec", "command")),
					container.at("livenessProbe", "httpGet", "port"), container.at("livenessProbe", "httpGet", "host"))
			}, "[/sluice healthcheck --handover --configFile=/etc/sluice/sluice.yaml --log.level=DEBUG] 2 <nil> 5 8080 127.0.0.1",
		},
		"Services": {
			handedOver(`exposure="service"`, `ports.web.targetPort="websecure"`, `metrics.service.enabled=true`,
				`xds={"enabled":true,"allowInsecure":true}`),
			func(_ *testing.T, all objects) any {
				service, metrics, xds := all["Service sluice/sluice"], all["Service sluice/sluice-metrics"],
					all["Service sluice/sluice-xds"]
				return said(service.at("spec", "ports", 0, "targetPort"), service.at("spec", "ports", 1, "targetPort"),
					metrics.at("spec", "ports", 0, "targetPort"), xds.at("spec", "ports", 0, "targetPort"))
			}, "443 443 8080 18000",
		},
		"the first update": {
			handedOver(`updateStrategy={"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}`),
			func(t *testing.T, all objects) any {
				return all.the(t, "DaemonSet").at("spec", "updateStrategy", "rollingUpdate", "maxSurge")
			}, 0,
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestChartRefusesAHandOver gives the chart values with which sockets cannot be handed over; the error says why.
func TestChartRefusesAHandOver(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   string
	}{
		"a Deployment":            {[]string{`workload.kind="Deployment"`}, "workload.kind=DaemonSet"},
		"ports of the CNI":        {[]string{`hostNetwork=false`}, "network namespace of its pod"},
		"a user namespace":        {[]string{`hostUsers=false`}, "excludes hostUsers=false"},
		"options twice":           {[]string{`configuration.handover={"drain":"1s"}`}, "set the values of handover instead"},
		"another container":       {[]string{`containers=[{"name":"a","ports":[{"containerPort":1}]}]`}, "ports of the container a"},
		"no surge":                {[]string{`updateStrategy={"rollingUpdate":{"maxUnavailable":1}}`}, "set rollingUpdate.maxSurge"},
		"replacement by hand":     {[]string{`updateStrategy={"type":"OnDelete"}`}, "set rollingUpdate.maxSurge"},
		"a probe by HTTP":         {[]string{`readinessProbe.httpGet={"port":80}`}, "would reach the old pod"},
		"a probe of no port":      {[]string{`livenessProbe.httpGet={"port":"none"}`}, "no port none"},
		"a user without the path": {[]string{`podSecurityContext.runAsUser=65532`}, "handover.directory.type=Directory"},
		"a user of the container": {[]string{`securityContext.runAsUser=65532`}, "runs as user 65532"},
		"no user":                 {[]string{`podSecurityContext.runAsUser=null`}, "podSecurityContext.runAsUser=0"},
		"root that is none":       {[]string{`securityContext.runAsNonRoot=true`}, "user 0 needs runAsNonRoot=false"},
		"a relative directory":    {[]string{`handover.directory.path="run"`}, "/handover/directory/path"},
		"no time":                 {[]string{`handover.drain=-1`}, "/handover/drain"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := try(t, handedOver(test.values...)...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error that names %s", err, test.want)
			}
		})
	}
}

// edge are the values of a release on nodes of the zone edge that are quickly ready.
func edge(more ...string) []string {
	return handedOver(append([]string{
		`image={"repository":"sluice","tag":"test"}`, `nodeSelector={"topology.kubernetes.io/zone":"edge"}`,
		`configuration.providers.kubernetesCRD=null`, `minReadySeconds=0`, `readinessProbe.periodSeconds=1`,
		`lifeCycle={"requestAcceptGraceTimeout":0,"graceTimeOut":5}`, `handover.drain=5`,
	}, more...)...)
}

// TestADaemonSetHandsOver applies the chart to a real control plane, whose controllers replace the pods of two nodes
// while clients send requests on new and on kept connections. None fails, and no pod restarts. A pod that does not get
// ready replaces none. The pods are processes in the network namespaces of the nodes, with the user, capabilities,
// volumes and probes of the chart.
func TestADaemonSetHandsOver(t *testing.T) {
	c := cluster.Start(t)
	images := map[string]node.Image{"sluice:test": {Program: harness.Binary(t), Path: "/sluice"}}
	nodes := []string{c.AddHost("edge-1", "edge", images).String(), c.AddHost("edge-2", "edge", images).String()}
	c.Apply(string(read(t, manifests+"/base/namespace.yaml")), visited)
	c.Deployed("shop/web")
	old := roll(t, c, nil)
	expectHostPorts(t, c)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	counts := make([]atomic.Int64, 2*len(nodes))
	for i := range counts {
		clients.Go(func() { request(ctx, t, nodes[i%len(nodes)], i < len(nodes), &counts[i]) })
	}
	more := func(when string) {
		for i := range counts {
			before := counts[i].Load()
			harness.Until(t, "more requests "+when, func() bool { return t.Failed() || counts[i].Load() > before })
		}
	}
	more("before the update")
	begin := counts[0].Load()
	replaced := roll(t, c, old, `configuration.log.level="DEBUG"`)
	during := counts[0].Load() - begin
	more("after the update")
	breakRelease(t, c, replaced)
	more("beside a pod that waits")
	stop()
	clients.Wait()
	if during < 20 {
		t.Errorf("a client sent %d requests during the update, too few to show anything", during)
	}
	for _, name := range replaced {
		if log := podLog(t, c, name); !strings.Contains(log, "serving in the place of the predecessor") {
			t.Errorf("pod %s has taken nothing over:\n%s", name, log)
		}
	}
	for i := range counts {
		t.Logf("client %d: %d requests", i, counts[i].Load())
	}
}

// visited is what the clients of a node ask for.
const visited = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: sluice
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`

// roll applies a release and waits until the DaemonSet has one ready pod on each node, and no other. It returns their
// names. A pod that restarts is a failure.
func roll(t *testing.T, c *cluster.Cluster, old []string, values ...string) []string {
	t.Helper()
	apply(t, c, values...)
	var names []string
	c.UntilAll("Pod", "sluice", "a new pod on each node", func(pods []*unstructured.Unstructured) bool {
		names = nil
		ready := true
		for _, pod := range pods {
			names = append(names, pod.GetName())
			ready = ready && cluster.Condition(pod, "Ready") == "True" && pod.GetDeletionTimestamp() == nil &&
				!slices.Contains(old, pod.GetName())
			count := object(pod.Object).at("status", "containerStatuses", 0, "restartCount")
			if count != nil && count != int64(0) {
				t.Errorf("pod %s has restarted:\n%s", pod.GetName(), podLog(t, c, pod.GetName()))
				return true
			}
		}
		return ready && len(pods) == 2
	})
	if t.Failed() {
		t.FailNow()
	}
	return names
}

// apply applies a release.
func apply(t *testing.T, c *cluster.Cluster, values ...string) {
	t.Helper()
	rendered, err := try(t, edge(values...)...)
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(rendered)
}

// breakRelease applies a release whose pods reach no API server, and so are never ready, although a request for /ready
// to their node is answered by the running ones. These stay, also after the way back.
func breakRelease(t *testing.T, c *cluster.Cluster, running []string) {
	t.Helper()
	apply(t, c, `configuration.log.level="DEBUG"`,
		`configuration.providers.kubernetesIngress={"endpoint":"https://203.0.113.1:9"}`)
	var added string
	c.UntilAll("Pod", "sluice", "a pod that waits", func(pods []*unstructured.Unstructured) bool {
		for _, pod := range pods {
			if !slices.Contains(running, pod.GetName()) {
				added = pod.GetName()
			}
		}
		return added != ""
	})
	harness.Until(t, "probes of the pod that waits", func() bool {
		return strings.Count(podLog(t, c, added), "not ready: ") > 2
	})
	pods := c.UntilAll("Pod", "sluice", "listed", func([]*unstructured.Unstructured) bool { return true })
	for _, pod := range pods {
		if ready := cluster.Condition(pod, "Ready") == "True"; ready != (pod.GetName() != added) ||
			pod.GetDeletionTimestamp() != nil {
			t.Errorf("while pod %s waits: pod %s is ready: %t, and ends: %v", added, pod.GetName(), ready,
				pod.GetDeletionTimestamp())
		}
	}
	apply(t, c, `configuration.log.level="DEBUG"`)
	c.UntilAll("Pod", "sluice", "the running pods alone", func(pods []*unstructured.Unstructured) bool {
		return len(pods) == len(running) && !slices.ContainsFunc(pods, func(pod *unstructured.Unstructured) bool {
			return !slices.Contains(running, pod.GetName())
		})
	})
}

// podLog returns the log of a pod of Sluice.
func podLog(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	log, err := c.Kubernetes.CoreV1().Pods("sluice").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// request sends requests to a node until ctx ends, each on a connection of its own unless they are kept. The first that
// fails is an error.
func request(ctx context.Context, t *testing.T, address string, kept bool, count *atomic.Int64) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: !kept}
	defer transport.CloseIdleConnections()
	for ctx.Err() == nil {
		request, err := http.NewRequest(http.MethodGet, "http://"+address+"/?wait=5ms", http.NoBody) //nolint:noctx // None is given up.
		if err != nil {
			t.Error(err)
			return
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		if err == nil && response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
		if err != nil {
			t.Errorf("after %d requests to %s, connection kept: %t: %v", count.Load(), address, kept, err)
			return
		}
		count.Add(1)
	}
}

// hostPorts returns the ports of the node that a pod of a variant has for the API server, which changes nothing.
func hostPorts(t *testing.T, c *cluster.Cluster, values ...string) string {
	t.Helper()
	content, err := json.Marshal(render(t, values...).the(t, "DaemonSet").at("spec", "template"))
	if err != nil {
		t.Fatal(err)
	}
	pod := corev1.Pod{}
	if err := json.Unmarshal(content, &pod); err != nil {
		t.Fatal(err)
	}
	pod.GenerateName = "sluice-"
	accepted, err := c.Kubernetes.CoreV1().Pods("sluice").Create(t.Context(), &pod,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	var ports []any
	for _, port := range accepted.Spec.Containers[0].Ports {
		ports = append(ports, port.HostPort)
	}
	return said(ports...)
}

// expectHostPorts has the API server look at variants of the chart: with the network of the node, it makes every port
// that a container declares one of the node.
func expectHostPorts(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for want, values := range map[string][]string{
		"8080 80 443": {
			`hostNetwork=true`, `ports.web.port=80`, `ports.websecure.port=443`, `ports.traefik.hostIP="127.0.0.1"`,
		},
		"": handedOver(`exposure="service"`, `ports.websecure.http3=true`, `startupProbe={"failureThreshold":30}`,
			`xds={"enabled":true,"allowInsecure":true}`),
	} {
		if got := hostPorts(t, c, values...); got != want {
			t.Errorf("the ports of the node are %q, want %q, with %q", got, want, values)
		}
	}
}
