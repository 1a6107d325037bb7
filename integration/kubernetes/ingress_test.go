package kubernetes

import (
	"crypto/tls"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// to is a backend of an Ingress.
func to(service string) string { return "{service: {name: " + service + ", port: {number: 80}}}" }

// host is the spec of an Ingress for one host, with paths as in a manifest.
func host(name string, paths ...string) string {
	rule := "http: {paths: [" + strings.Join(paths, ", ") + "]}"
	if name != "" {
		rule = "host: '" + name + "', " + rule
	}
	return "{rules: [{" + rule + "}]}"
}

// at is a path of an Ingress.
func at(kind, path, backend string) string {
	return "{pathType: " + kind + ", path: " + path + ", backend: " + backend + "}"
}

// TestIngresses routes requests by Ingresses.
func TestIngresses(t *testing.T) {
	c := prepare(t, "traefik.io")
	c.Apply(namespace("shop"), app("shop/a"), app("shop/b"), app("shop/c"))
	s := open(t, c, static)
	tests := map[string]func(*cluster.Cluster, *gate){
		"by all types of paths":        matchPaths,
		"by hosts and wildcards":       matchHosts,
		"to default backends":          fallBack,
		"of some classes":              chooseClasses,
		"with annotations":             annotate,
		"with annotations of Services": annotateServices,
		"by TLS":                       encryptIngress,
		"to ports by name":             namePorts,
		"and refuses other resources":  refuseResources,
		"that change and go":           changeIngress,
		"that choose by option":        chooseByOption,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](c.For(t), s.on(t)) })
	}
}

func matchPaths(c *cluster.Cluster, s *gate) {
	c.Apply(ingressOf("shop/paths", "", host("paths.test",
		at("Prefix", "/", to("a")), at("Prefix", "/prefix", to("b")), at("Exact", "/exact", to("c")),
		at("ImplementationSpecific", "/own", to("c")))))
	s.becomes("paths.test/", "200 shop/a")
	for path, want := range map[string]string{
		"/prefix": "b", "/prefix/": "b", "/prefix/more": "b", "/exact": "c", "/exact/": "a", "/exact/more": "a", "/own": "c",
		"/own/more": "c", "/else": "a",
	} {
		s.expect("paths.test"+path, "200 shop/"+want)
	}
	s.expect("other.test/prefix", "404")
	strict := open(s.t, c, static, "--providers.kubernetesIngress.strictPrefixMatching")
	s.expect("paths.test/prefixed", "200 shop/b") // As Traefik has it.
	strict.expect("paths.test/prefixed", "200 shop/a")
	strict.expect("paths.test/prefix/more", "200 shop/b")
}

func matchHosts(c *cluster.Cluster, s *gate) {
	c.Apply(ingressOf("shop/wild", "", host("*.wild.test", at("Prefix", "/", to("a")))), ingressOf("shop/tame", "",
		host("tame.wild.test", at("Prefix", "/", to("b")))),
		ingressOf("shop/any", "", host("", at("Prefix", "/only-here", to("c")))))
	s.becomes("x.wild.test/", "200 shop/a")
	s.becomes("tame.wild.test/", "200 shop/b")
	s.becomes("any.test/only-here", "200 shop/c")
	s.expect("wild.test/", "404")
	s.expect("TAME.wild.test/", "200 shop/b")
	s.expect("tame.wild.test:80/", "200 shop/b")
	c.DeleteNow("Ingress.networking.k8s.io", "shop/any")
}

func fallBack(c *cluster.Cluster, s *gate) {
	c.Apply(ingressOf("shop/fall", "", strings.Replace(host("fall.test", at("Prefix", "/b", to("b"))), "{",
		"{defaultBackend: "+to("a")+", ", 1)))
	s.becomes("fall.test/b", "200 shop/b")
	s.expect("fall.test/else", "200 shop/a")
	s.expect("nothing.test/", "404")
	c.Apply(ingressOf("shop/all", "", "{defaultBackend: "+to("c")+"}"))
	s.becomes("nothing.test/", "200 shop/c")
	s.expect("fall.test/else", "200 shop/a")
	c.Apply(ingressOf("shop/all-too", "", "{defaultBackend: "+to("b")+"}"))
	s.reports("shop/all-too", "one default backend")
	s.expect("nothing.test/", "200 shop/c")
	c.DeleteNow("Ingress.networking.k8s.io", "shop/all")
	s.becomes("nothing.test/", "200 shop/b")
	c.DeleteNow("Ingress.networking.k8s.io", "shop/all-too")
	s.becomes("nothing.test/", "404")
}

// class is the manifest of an IngressClass.
func class(name, controller, annotations string) string {
	return "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: " + name + ", annotations: {" +
		annotations + "}}\nspec: {controller: " + controller + "}\n"
}

// classy is an Ingress of a class.
func classy(name, class string) string {
	return ingressOf("shop/"+name, "", strings.Replace(host(name+".test", at("Prefix", "/", to("a"))), "{",
		"{ingressClassName: "+class+", ", 1))
}

func chooseClasses(c *cluster.Cluster, s *gate) {
	c.Apply(class("mine", "sluice.dev/ingress-controller", ""), class("theirs", "example.com/other", ""),
		class("migrated", "traefik.io/ingress-controller", ""))
	c.Apply(classy("mine", "mine"), classy("theirs", "theirs"), classy("migrated", "migrated"),
		classy("nobodys", "nobodys"))
	s.becomes("mine.test/", "200 shop/a")
	s.becomes("migrated.test/", "200 shop/a")
	s.expect("theirs.test/", "404")
	s.expect("nobodys.test/", "404")
	c.Apply(class("nobodys", "sluice.dev/ingress-controller", ""))
	s.becomes("nobodys.test/", "200 shop/a")
	c.DeleteNow("IngressClass.networking.k8s.io", "nobodys")
	s.becomes("nobodys.test/", "404")
	c.Apply(ingressOf("shop/annotated", "kubernetes.io/ingress.class: nginx",
		host("annotated.test", at("Prefix", "/", to("a")))))
	s.becomes("mine.test/", "200 shop/a")
	s.expect("annotated.test/", "404")
	c.Apply(ingressOf("shop/annotated", "kubernetes.io/ingress.class: traefik",
		host("annotated.test", at("Prefix", "/", to("a")))))
	s.becomes("annotated.test/", "200 shop/a")
}

// chooseByOption starts another Sluice with the option ingressClass. The API server writes the default class into each
// Ingress that names none; what is older than the class belongs to it all the same.
func chooseByOption(c *cluster.Cluster, s *gate) {
	c.Apply(ingressOf("shop/older", "", host("older.test", at("Prefix", "/", to("a")))))
	c.Apply(class("inner", "sluice.dev/ingress-controller", ""), class("outer", "sluice.dev/ingress-controller", ""))
	c.Apply(classy("inner", "inner"), classy("outer", "outer"))
	inner := open(s.t, c, static, "--providers.kubernetesIngress.ingressClass=inner")
	inner.expect("inner.test/", "200 shop/a")
	inner.expect("outer.test/", "404")
	inner.expect("older.test/", "404")
	c.Apply(class("inner", "sluice.dev/ingress-controller", "ingressclass.kubernetes.io/is-default-class: 'true'"))
	inner.becomes("older.test/", "200 shop/a")
	c.Apply(ingressOf("shop/newer", "", host("newer.test", at("Prefix", "/", to("b")))))
	inner.becomes("newer.test/", "200 shop/b")
	s.becomes("newer.test/", "200 shop/b")
	c.DeleteNow("IngressClass.networking.k8s.io", "inner")
	inner.becomes("inner.test/", "404")
}

func annotate(c *cluster.Cluster, s *gate) {
	const prefix = "traefik.ingress.kubernetes.io/router."
	path := func(name string) string { return host(name+".test", at("ImplementationSpecific", "/p", to("a"))) }
	c.Apply(stamp("shop/stamp", "shop"),
		ingressOf("shop/an-entry", prefix+"entrypoints: websecure", path("an-entry")),
		ingressOf("shop/an-path", prefix+"pathmatcher: Path", path("an-path")),
		ingressOf("shop/an-low", prefix+"priority: '1'", path("an-prio")), ingressOf("shop/an-high", prefix+"priority: '2'",
			strings.Replace(path("an-prio"), "name: a", "name: b", 1)),
		ingressOf("shop/an-stamp", prefix+"middlewares: shop-stamp@kubernetescrd", path("an-stamp")),
		ingressOf("shop/an-nobody", prefix+"middlewares: shop-nobody@kubernetescrd", path("an-nobody")),
		ingressOf("shop/an-typo", prefix+"middleware: shop-stamp@kubernetescrd", path("an-typo")),
	)
	s.stamped("an-stamp.test/p", "shop")
	s.expect("an-entry.test/p", "404")
	s.expect("an-path.test/p", "200 shop/a")
	s.expect("an-path.test/p/more", "404")
	s.expect("an-prio.test/p", "200 shop/b")
	s.becomes("an-nobody.test/p", "503")
	s.reports("shop-an-nobody-", "shop-nobody@kubernetescrd")
	s.expect("an-typo.test/p", "503") // A protection may be meant.
	s.reports("shop/an-typo", "router.middleware")
}

func annotateServices(c *cluster.Cluster, s *gate) {
	const prefix = "traefik.ingress.kubernetes.io/service."
	annotated := func(name, annotations string) string {
		return strings.Replace(plain(name, "{selector: {app: a}, ports: [{port: 80, targetPort: main}]}"), "namespace:",
			"annotations: {"+annotations+"}, namespace:", 1)
	}
	c.Apply(stamp("shop/at-service", "service"), annotated("h2c", prefix+"serversscheme: h2c"),
		annotated("own", prefix+"nativelb: 'true'"),
		annotated("stamped", prefix+"middlewares: shop-at-service@kubernetescrd"),
		annotated("broken", prefix+"nativelb: 'perhaps'"))
	for _, name := range []string{"h2c", "own", "stamped", "broken"} {
		c.Apply(ingressOf("shop/"+name, "", host(name+".test", at("Prefix", "/", to(name)))))
	}
	address := c.Get("Service", "shop/own").Object["spec"].(map[string]any)["clusterIP"].(string)
	listen(s.t, address+":80", "clusterIP", nil)
	s.becomes("h2c.test/", "200 shop/a")
	s.becomes("own.test/", "200 clusterIP")
	s.stamped("stamped.test/", "service")
	s.reports("shop-broken-80@kubernetes", "nativelb")
}

func encryptIngress(c *cluster.Cluster, s *gate) {
	authority := harness.NewAuthority(s.t)
	issued := authority.Issue("safe.test")
	safe := strings.Replace(host("safe.test", at("Prefix", "/", to("a"))), "{",
		"{tls: [{hosts: [safe.test], secretName: safe}], ", 1)
	c.Apply(ingressOf("shop/safe", "", safe))
	s.reports("shop/safe", "Secret shop/safe does not exist")
	c.Apply(pair(s.t, "safe", issued))
	s.shows("safe.test", issued)
	s.settles("shop/safe")
	for _, protocol := range []harness.Protocol{harness.H1TLS, harness.H2} {
		if got := s.safe(protocol, "safe.test", &tls.Config{RootCAs: authority.Pool}); got != "200 shop/a" {
			s.t.Errorf("by %s: %s", protocol, got)
		}
	}
	c.Apply(custom("TLSOption", "modern", "{minVersion: VersionTLS13}"),
		ingressOf("shop/safe",
			"traefik.ingress.kubernetes.io/router.tls.options: shop-modern@kubernetescrd, "+
				"traefik.ingress.kubernetes.io/router.tls: 'true'", safe))
	s.refuses("safe.test", old)
	s.shows("safe.test", issued)
}

func namePorts(c *cluster.Cluster, s *gate) {
	named := func(port string) string {
		return host("ports.test", at("Prefix", "/", "{service: {name: a, port: {name: "+port+"}}}"))
	}
	c.Apply(ingressOf("shop/ports", "", named("http")))
	s.becomes("ports.test/", "200 shop/a")
	c.Apply(ingressOf("shop/ports", "", named("other")))
	s.becomes("ports.test/", "503")
	s.reports("shop-ports-", "other")
	c.Apply(ingressOf("shop/ports", "", host("ports.test", at("Prefix", "/", to("a")), at("Prefix", "/missing",
		to("missing")))))
	s.becomes("ports.test/", "200 shop/a")
	s.becomes("ports.test/missing", "503")
	s.reports("shop-ports-", "Service shop/missing does not exist")
}

func refuseResources(c *cluster.Cluster, s *gate) {
	c.Apply(ingressOf("shop/resource", "", host("resource.test",
		at("Prefix", "/", "{resource: {apiGroup: example.com, kind: Bucket, name: static}}"), at("Prefix", "/a", to("a")))))
	s.becomes("resource.test/a", "200 shop/a")
	s.becomes("resource.test/", "503")
	s.reports("shop-resource-", "Bucket")
}

func changeIngress(c *cluster.Cluster, s *gate) {
	c.Apply(ingressOf("shop/changing", "", host("changing.test", at("Prefix", "/", to("a")))))
	s.becomes("changing.test/", "200 shop/a")
	c.Apply(ingressOf("shop/changing", "", host("changed.test", at("Prefix", "/", to("b")))))
	s.becomes("changed.test/", "200 shop/b")
	s.becomes("changing.test/", "404")
	c.DeleteNow("Ingress.networking.k8s.io", "shop/changing")
	s.becomes("changed.test/", "404")
}
