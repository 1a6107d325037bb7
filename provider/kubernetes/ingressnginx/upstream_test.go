package ingressnginx

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/router"
)

// TestObjectsCompile compiles what the golden files become: no object is refused but those with a verdict already.
func TestObjectsCompile(t *testing.T) {
	for _, name := range []string{
		"affinity", "canary", "defaults", "errors", "headers", "hosts", "mirror", "paths", "redirects", "regex", "upstreams",
	} {
		t.Run(name, func(t *testing.T) {
			content := readFile(t, filepath.Join("testdata", name+".yaml"))
			cluster := newCluster()
			cluster.apply(t, readFile(t, "testdata/common.txt"))
			cluster.apply(t, content)
			configuration := translated(t, cluster.provider(optionsOf(t, content)))
			for _, verdict := range refused(t, configuration) {
				t.Error(verdict.String())
			}
		})
	}
}

// refused returns the verdicts of the compiler on what has none.
func refused(t *testing.T, configuration *dynamic.Configuration) []dynamic.Verdict {
	t.Helper()
	known := map[string]bool{}
	for _, verdict := range configuration.Verdicts {
		known[verdict.Ref.Name+"@"+Name] = true
	}
	builder := dynamic.NewBuilder(&dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{}, TLS: &dynamic.TLSConfiguration{},
	})
	var changed []dynamic.Ref
	for ref, object := range configuration.Objects() {
		ref.Name += "@" + Name
		builder.Put(ref, object)
		changed = append(changed, ref)
	}
	entryPoints := []router.EntryPoint{
		{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()},
		{Name: "websecure", Port: 443, Default: true, Policy: canonical.DefaultPolicy()},
	}
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	made := router.NewCompiler(router.Options{
		EntryPoints: entryPoints, Registry: loadbalancer.NewRegistry(loadbalancer.Options{}), Transport: transport,
	}, router.NewActiveTable(entryPoints)).Compile(router.Input{
		Configuration: builder.Configuration(), Changed: changed, Final: true,
	})
	return slices.DeleteFunc(made.Verdicts, func(verdict dynamic.Verdict) bool {
		return verdict.Status != dynamic.Quarantined || known[verdict.Ref.Name]
	})
}

// TestCanaryComesAndGoes adds a canary on another host of the same Service, changes it and removes it: the main Ingress
// follows each time.
func TestCanaryComesAndGoes(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	main := siteOf("main", "a.example.com", "web", nil)
	cluster.ingresses.put(main)
	cluster.ingresses.put(siteOf("same", "b.example.com", "web", nil))
	p := cluster.provider(defaultConfig())
	if got := canaries(translated(t, p)); len(got) != 0 {
		t.Fatalf("there are canaries: %v", got)
	}
	for _, weight := range []string{"10", "20"} {
		cluster.ingresses.put(siteOf("canary", "b.example.com", "api", map[string]string{
			"canary": "true", "canary-weight": weight,
		}))
		if got := canaries(translated(t, p)); len(got) != 1 || got[0].Weight != map[string]int{"10": 10, "20": 20}[weight] {
			t.Errorf("weight %s: %+v", weight, got)
		}
	}
	configuration, _ := p.update()
	for _, name := range []string{"shop.main,000,000", "shop.same,000,000"} {
		service := configuration.HTTP.Services.Get(configuration.HTTP.Routers.Get(name).Service)
		if service.Canary == nil {
			t.Errorf("%s has no canary", name)
		}
	}
	cluster.ingresses.drop("shop", "canary")
	if got := canaries(translated(t, p)); len(got) != 0 {
		t.Errorf("canaries are left: %v", got)
	}
}

// TestHeadersFollowTheirConfigMap denies a location until the ConfigMap of custom-headers is there and has only headers
// that are allowed.
func TestHeadersFollowTheirConfigMap(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	cluster.ingresses.put(siteOf("main", "a.example.com", "web", map[string]string{"custom-headers": "shop/extra"}))
	config := defaultConfig()
	config.GlobalAllowedResponseHeaders = []string{"X-One"}
	p := cluster.provider(config)
	check := func(want string) {
		t.Helper()
		got := ""
		for _, verdict := range translated(t, p).Verdicts {
			if verdict.Status == dynamic.Quarantined && verdict.Ref.Name == "shop.main,000,000" {
				got = verdict.Reason
			}
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("the location is refused because %q, want %q", got, want)
		}
	}
	headers := func(data map[string]string) {
		cluster.configMaps.put(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "extra"}, Data: data,
		})
	}
	check("does not exist")
	headers(map[string]string{"X-One": "1"})
	check("")
	headers(map[string]string{"X-One": "1", "X-Two": "2"})
	check("X-Two")
	cluster.configMaps.drop("shop", "extra")
	check("does not exist")
}

// TestEndpointSecretFollows refuses a location until the Secret of proxy-ssl-secret is there.
func TestEndpointSecretFollows(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	cluster.ingresses.put(siteOf("main", "a.example.com", "web", map[string]string{
		"backend-protocol": "HTTPS", "proxy-ssl-secret": "shop/pair", "proxy-ssl-verify": "on",
	}))
	p := cluster.provider(defaultConfig())
	transport := func() *dynamic.ServersTransport {
		t.Helper()
		configuration := translated(t, p)
		router := configuration.HTTP.Routers.Get("shop.main,000,000")
		for _, verdict := range configuration.Verdicts {
			if verdict.Status == dynamic.Quarantined && verdict.Ref.Name == "shop.main,000,000" {
				return nil
			}
		}
		balancer := configuration.HTTP.Services.Get(router.Service).LoadBalancer
		return configuration.HTTP.ServersTransports.Get(balancer.ServersTransport)
	}
	if transport() != nil {
		t.Error("a location serves without the Secret")
	}
	data := generate(t, "client.example.com")
	data["ca.crt"] = data[corev1.TLSCertKey]
	cluster.secrets.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pair"}, Data: data})
	got := transport()
	if got == nil || got.InsecureSkipVerify || len(got.RootCAs) != 1 || len(got.Certificates) != 1 ||
		got.ServerName != defaultPeerName || !got.DisableSNI || got.MaxVersion != "VersionTLS12" {
		t.Errorf("transport %+v", got)
	}
}

// canaries returns the services that have one.
func canaries(configuration *dynamic.Configuration) []*dynamic.Canary {
	var all []*dynamic.Canary
	for _, service := range configuration.HTTP.Services.All() {
		if service.Canary != nil {
			all = append(all, service.Canary)
		}
	}
	return all
}

// siteOf is an Ingress with one host, whose "/" leads to port 80 of a Service.
func siteOf(name, host, service string, annotations map[string]string) *networkingv1.Ingress {
	class, prefix := "nginx", networkingv1.PathTypePrefix
	made := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Annotations: map[string]string{},
	}}
	for key, value := range annotations {
		made.Annotations["nginx.ingress.kubernetes.io/"+key] = value
	}
	made.Spec.IngressClassName = &class
	made.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	made.Spec.Rules[0].HTTP = &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
		Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: service, Port: networkingv1.ServiceBackendPort{Number: 80},
		}},
	}}}
	return made
}
