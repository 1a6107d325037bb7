package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccessLogNamesIngresses checks the fields for Ingress and Service. As in Traefik, they are empty for
// IngressRoutes, which have no single Service, and for requests without a route.
func TestAccessLogNamesIngresses(t *testing.T) {
	c := prepare(t, "traefik.io")
	bucket := "{resource: {apiGroup: example.com, kind: Bucket, name: static}}"
	front := func(port string) string {
		backend := "{service: {name: web, port: {" + port + "}}}"
		return ingressOf("shop/front", "traefik.ingress.kubernetes.io/router.observability.metrics: 'false'",
			host("front.test", at("Prefix", "/", backend), at("Prefix", "/bucket", bucket)))
	}
	c.Apply(namespace("shop"), app("shop/web"), front("number: 80"), route("traefik.io", "shop/plain", "plain.test",
		"[{name: web, port: 80}]"),
		ingressOf("shop/rest", "", "{defaultBackend: {service: {name: web, port: {name: http}}}}"))
	log := filepath.Join(t.TempDir(), "access.log")
	s := open(t, c, static, "--accessLog.format=json", "--accessLog.filePath="+log)
	ingress := func(of, port string) map[string]any {
		return map[string]any{
			"KubernetesIngressNamespace": "shop", "KubernetesIngressName": of, "KubernetesServiceName": "web",
			"KubernetesServicePort": port,
		}
	}
	for _, one := range []struct {
		where, answer string
		want          map[string]any
	}{
		{"front.test/number", "200 shop/web", ingress("front", "80")},
		{"front.test/bucket", "503", map[string]any{"KubernetesIngressNamespace": "shop", "KubernetesIngressName": "front"}},
		{"plain.test/route", "200 shop/web", map[string]any{}},
		{"else.test/default", "200 shop/web", ingress("rest", "http")},
	} {
		s.becomes(one.where, one.answer)
		if diff := cmp.Diff(one.want, made(t, log, one.where, one.answer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one.where, diff)
		}
	}
	// Nothing but what is logged is another one now.
	c.Apply(front("name: http"))
	c.DeleteNow("Ingress.networking.k8s.io", "shop/rest")
	s.becomes("else.test/nobody", "404")
	if diff := cmp.Diff(map[string]any{}, made(t, log, "else.test/nobody", "404")); diff != "" {
		t.Errorf("without a client (-want +got):\n%s", diff)
	}
	var got map[string]any
	until(t, func() bool {
		s.expect("front.test/name", "200 shop/web")
		got = made(t, log, "front.test/name", "200")
		return cmp.Equal(ingress("front", "http"), got)
	}, func() string { return cmp.Diff(ingress("front", "http"), got) })
}

// made waits for a line with host/path and a response in an access log of JSON, and returns the Kubernetes fields of
// the last one.
func made(t *testing.T, log, where, answer string) map[string]any {
	t.Helper()
	host, path, _ := strings.Cut(where, "/")
	status, _, _ := strings.Cut(answer, " ")
	var found map[string]any
	until(t, func() bool {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			request := map[string]any{}
			if err := json.Unmarshal([]byte(line), &request); err != nil {
				continue // The last line may be on its way.
			}
			if request["RequestHost"] == host && request["RequestPath"] == "/"+path &&
				fmt.Sprint(request["DownstreamStatus"]) == status {
				maps.DeleteFunc(request, func(name string, _ any) bool { return !strings.HasPrefix(name, "Kubernetes") })
				found = request
			}
		}
		return found != nil
	}, func() string { return "there is no line about " + where })
	return found
}
