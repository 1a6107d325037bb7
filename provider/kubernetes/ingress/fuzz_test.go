package ingress

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/router/rule"
	"github.com/sluiceproxy/sluice/static"
)

// FuzzTranslate translates any Ingress and any Service: nothing panics, every rule can be parsed, every router that may
// serve leads to a service, and every verdict has a reason and is about something that is there.
func FuzzTranslate(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		var ingress, service []byte
		for manifest := range strings.SplitSeq(string(readFile(f, file)), "\n---\n") {
			text, err := yaml.YAMLToJSON([]byte(manifest))
			switch {
			case err != nil:
				f.Fatal(err)
			case strings.Contains(manifest, "kind: Ingress\n"):
				ingress = text
			case strings.Contains(manifest, "kind: Service\n"):
				service = text
			}
		}
		f.Add(ingress, service, true)
		f.Add(ingress, service, false)
	}
	f.Fuzz(func(t *testing.T, ingressText, serviceText []byte, strict bool) {
		ingress, service := &networkingv1.Ingress{}, &corev1.Service{}
		if json.Unmarshal(ingressText, ingress) != nil || json.Unmarshal(serviceText, service) != nil {
			return
		}
		cluster := newCluster()
		cluster.ingresses.put(ingress)
		cluster.services.put(service)
		p := cluster.provider(static.KubernetesIngress{StrictPrefixMatching: strict, AllowExternalNameServices: true})
		checkConfiguration(t, translated(t, p))
	})
}

func checkConfiguration(t *testing.T, configuration *dynamic.Configuration) {
	t.Helper()
	shut := map[dynamic.Ref]bool{}
	for _, verdict := range configuration.Verdicts {
		if verdict.Reason == "" {
			t.Errorf("the verdict on %v has no reason", verdict.Ref)
		}
		if _, known := configuration.Origins.Find(verdict.Ref); !known && verdict.Ref.Kind != dynamic.KindSource {
			t.Errorf("the verdict %v is about nothing", verdict)
		}
		shut[verdict.Ref] = shut[verdict.Ref] || verdict.Status == dynamic.Quarantined
	}
	for name, router := range configuration.HTTP.Routers.All() {
		checkRule(t, name, router)
		if shut[dynamic.Ref{Kind: dynamic.KindRouter, Name: name}] {
			continue
		}
		if router.Rule == "" || configuration.HTTP.Services.Get(router.Service) == nil {
			t.Errorf("router %s has the rule %q and the service %q, and no verdict", name, router.Rule, router.Service)
		}
	}
}

// FuzzRule checks that the rule of a host and a path matches what it is made for, and nothing for other hosts or paths.
func FuzzRule(f *testing.F) {
	for _, path := range []string{
		"/", "/a", "/a/", "/a`) || Host(`", "/a\") || Path(\"/", "/{id}", "/\r\n", "/%2F", "/é",
		"//",
	} {
		for kind := range uint8(3) {
			f.Add("a.example.com", path, kind, true)
			f.Add("*.example.com", path, kind, false)
			f.Add("a`) || Host(`b", path, kind, false)
		}
	}
	f.Fuzz(func(t *testing.T, host, text string, kind uint8, strict bool) {
		types := []networkingv1.PathType{
			networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific,
		}
		path := &networkingv1.HTTPIngressPath{Path: text, PathType: &types[int(kind)%len(types)]}
		made, err := ruleOf(host, path, &routerOptions{}, strict)
		if err != nil {
			return
		}
		parsed, err := rule.Parse(made)
		if err != nil {
			if !strings.Contains(err.Error(), "regular expression") {
				t.Fatalf("host %q, path %q: rule %s: %v", host, text, made, err)
			}
			return
		}
		named := strings.Replace(host, "*", "x", 1)
		for _, asked := range []string{text, text + "x", text + "/x", strings.TrimSuffix(text, "/"), "/", "/elsewhere"} {
			if !strings.HasPrefix(asked, "/") {
				continue // No request has such a path.
			}
			want := wanted(*path.PathType, text, asked, strict)
			if got := parsed.Match(&rule.Request{Host: named, Path: asked}); got != want {
				t.Errorf("rule %s on the path %q: got %t, want %t", made, asked, got, want)
			}
			if host != "" && parsed.Match(&rule.Request{Host: "stranger.invalid", Path: asked}) && named != "stranger.invalid" {
				t.Errorf("rule %s matches another host", made)
			}
		}
	})
}

// wanted says in the words of the Ingress whether a path matches a request.
func wanted(kind networkingv1.PathType, path, asked string, strict bool) bool {
	switch {
	case path == "":
		return true
	case kind == networkingv1.PathTypeExact:
		return asked == path
	case !strict || path == "/":
		return strings.HasPrefix(asked, path)
	}
	stem := strings.TrimSuffix(path, "/")
	return asked == stem || strings.HasPrefix(asked, stem+"/")
}

// FuzzAnnotations puts any annotation beside a good one, on an Ingress and on its Service: what protects a route is
// there, or the route does not serve.
func FuzzAnnotations(f *testing.F) {
	for _, key := range []string{
		"router.tls", "router.tls.domains.0.main", "router.tls.domains.0", "router.middlewares.0", "router.middlewares.x",
		"router.priority", "router.", "router", "router..", "service.sticky.cookie", "service.sticky", "service.middlewares",
		"",
	} {
		f.Add(key, "true")
		f.Add(strings.ToUpper(key), "a@b, c")
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		good := map[string]string{
			prefix + "router.middlewares": "auth@kubernetescrd", prefix + "service.middlewares": "auth@kubernetescrd",
		}
		if _, taken := good[strings.ToLower(prefix+key)]; taken {
			return
		}
		good[prefix+key] = value
		cluster := newCluster()
		service := clienttest.Parse[corev1.Service](t,
			[]byte("{metadata: {namespace: a, name: b}, spec: {ports: [{port: 80}]}}"))
		ingress := clienttest.Parse[networkingv1.Ingress](t, []byte(`{
			metadata: {namespace: a, name: b}, spec: {rules: [{http: {paths: [
			{path: /, pathType: ImplementationSpecific, backend: {service: {name: b, port: {number: 80}}}}]}}]}}`))
		service.Annotations, ingress.Annotations = good, good
		cluster.services.put(service)
		cluster.ingresses.put(ingress)
		configuration := translated(t, cluster.provider(static.KubernetesIngress{}))
		checkConfiguration(t, configuration)
		for _, verdict := range configuration.Verdicts {
			if verdict.Status == dynamic.Quarantined {
				return
			}
		}
		for name, router := range configuration.HTTP.Routers.All() {
			service := configuration.HTTP.Services.Get(router.Service)
			if !slices.Equal(router.Middlewares, service.Middlewares) || !slices.Equal(router.Middlewares,
				[]string{"auth@kubernetescrd"}) {
				t.Errorf("router %s has the middlewares %q, its service %q", name, router.Middlewares, service.Middlewares)
			}
		}
	})
}
