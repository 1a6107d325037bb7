package kubernetes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// middleware is the manifest of a Middleware of traefik.io, at namespace/name.
func middleware(path, spec string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return "---\napiVersion: traefik.io/v1alpha1\nkind: Middleware\nmetadata: {name: " + name + ", namespace: " +
		namespace + "}\nspec: " + spec + "\n"
}

// stamp is a Middleware that sets X-Stamp to its name.
func stamp(path, text string) string {
	return middleware(path, "{headers: {customResponseHeaders: {X-Stamp: "+text+"}}}")
}

// guarded is a route to shop/web with middlewares as in a manifest.
func guarded(path, host, middlewares string) string {
	return strings.Replace(route("traefik.io", path, host, "[{name: web, port: 80}]"), "kind: Rule",
		"kind: Rule, middlewares: "+middlewares, 1)
}

// stamped waits for an answer with a stamp.
func (g *gate) stamped(where, want string) {
	g.t.Helper()
	var status int
	var got string
	until(g.t, func() bool {
		answer := g.get(where)
		status, got = answer.StatusCode, answer.Header.Get("X-Stamp")
		return status == 200 && got == want
	}, func() string { return where + " has the stamp " + got + g.tail() })
}

// TestMiddlewares finds middlewares by reference, and lets no request past one that is not there.
func TestMiddlewares(t *testing.T) {
	c := prepare(t)
	c.Apply(namespace("shop"), namespace("tools"), app("shop/web"), stamp("tools/stamp", "tools"),
		stamp("shop/stamp", "shop"))
	s := open(t, c, static)
	tests := map[string]func(*cluster.Cluster, *gate){
		"are followed as they change":               followMiddleware,
		"come late":                                 awaitMiddleware,
		"of other groups":                           shareMiddlewares,
		"in chains and at services":                 chainMiddlewares,
		"of another namespace are forbidden":        forbidNamespaces,
		"of another namespace when that is allowed": allowNamespaces,
		"whose Secret is missing admit no request":  awaitSecret,
		"of another provider":                       crossProviders,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](c.For(t), s.on(t)) })
	}
}

func followMiddleware(c *cluster.Cluster, s *gate) {
	c.Apply(stamp("shop/changing", "one"), guarded("shop/changing", "changing.test", "[{name: changing}]"))
	s.stamped("changing.test/", "one")
	c.Apply(stamp("shop/changing", "two"))
	s.stamped("changing.test/", "two")
	c.Apply(middleware("shop/changing", "{addPrefix: {}}"))
	s.reports("shop-changing@kubernetescrd", "retained", "addPrefix")
	s.stamped("changing.test/", "two")
	c.Apply(middleware("shop/changing", "{addPrefix: {prefix: /x}, stripPrefix: {prefixes: [/y]}}"))
	s.reports("shop-changing@kubernetescrd", "retained", "addPrefix and stripPrefix")
	s.stamped("changing.test/", "two")
	c.Apply(stamp("shop/changing", "three"))
	s.stamped("changing.test/", "three")
	s.settles("shop-changing@kubernetescrd")
}

func awaitMiddleware(c *cluster.Cluster, s *gate) {
	c.Apply(guarded("shop/late", "late.test", "[{name: stamp}, {name: late}]"))
	s.becomes("late.test/", "503")
	s.reports("shop-late-", "shop-late@kubernetescrd")
	c.Apply(stamp("shop/late", "late"))
	s.becomes("late.test/", "200 shop/web")
	s.settles("shop-late-")
	c.DeleteNow("Middleware.traefik.io", "shop/late")
	s.becomes("late.test/", "503")
}

// shareMiddlewares refers to a middleware of another group: a reference names no group.
func shareMiddlewares(c *cluster.Cluster, s *gate) {
	c.Apply(strings.Replace(stamp("shop/group", "old"), "traefik.io", "traefik.containo.us", 1),
		guarded("shop/group", "group.test", "[{name: group}]"))
	s.stamped("group.test/", "old")
	c.Apply(strings.Replace(stamp("shop/group", "own"), "traefik.io", "sluice.dev", 1))
	s.stamped("group.test/", "own")
	c.DeleteNow("Middleware.sluice.dev", "shop/group")
	s.stamped("group.test/", "old")
}

func chainMiddlewares(c *cluster.Cluster, s *gate) {
	c.Apply(middleware("shop/chain", "{chain: {middlewares: [{name: inner}, {name: stamp}]}}"),
		middleware("shop/inner", "{headers: {customResponseHeaders: {X-Inner: 'yes'}}}"),
		guarded("shop/chain", "chain.test", "[{name: chain}]"),
		route("traefik.io", "shop/at-service", "at-service.test", "[{name: web, port: 80, middlewares: [{name: stamp}]}]"),
	)
	s.stamped("chain.test/", "shop")
	if got := s.get("chain.test/").Header.Get("X-Inner"); got != "yes" {
		s.t.Errorf("the first of the chain says %q", got)
	}
	s.stamped("at-service.test/", "shop")
	c.DeleteNow("Middleware.traefik.io", "shop/inner")
	s.becomes("chain.test/", "503")
}

// crossings are references from the namespace shop to what the namespace tools holds, by host.
func crossings() map[string]string {
	service := "[{name: web, port: 80, namespace: tools}]"
	return map[string]string{
		"by-name.test": guarded("shop/by-name", "by-name.test", "[{name: stamp, namespace: tools}]"),
		"by-at.test":   guarded("shop/by-at", "by-at.test", "[{name: tools-stamp@kubernetescrd}]"),
		"service.test": route("traefik.io", "shop/service", "service.test", service),
		"chained.test": guarded("shop/chained", "chained.test", "[{name: chained}]") + middleware("shop/chained",
			"{chain: {middlewares: [{name: stamp, namespace: tools}]}}"),
		"weighted.test": route("traefik.io", "shop/weighted", "weighted.test", "[{name: weighted, kind: TraefikService}]") +
			traefikService("weighted", "{weighted: {services: "+service+"}}"),
		"foreign.test": route("traefik.io", "shop/foreign", "foreign.test",
			"[{name: all, kind: TraefikService, namespace: tools}]"),
	}
}

func forbidNamespaces(c *cluster.Cluster, s *gate) {
	c.Apply(app("tools/web"), strings.Replace(traefikService("all", "{weighted: {services: [{name: web, port: 80}]}}"),
		"namespace: shop", "namespace: tools", 1))
	for host, manifest := range crossings() {
		c.Apply(manifest)
		s.becomes(host+"/", "503")
	}
	s.reports("shop-by-name-", "tools/stamp", "allowCrossNamespace")
	s.reports("shop-by-at-", "allowCrossNamespace")
	s.reports("Service tools/web", "allowCrossNamespace")
	s.reports("shop-chained@kubernetescrd", "tools/stamp", "allowCrossNamespace")
	s.reports("shop-weighted@kubernetescrd", "tools/web", "allowCrossNamespace")
	s.reports("TraefikService tools/all", "allowCrossNamespace")
}

func allowNamespaces(c *cluster.Cluster, s *gate) {
	c.Apply(app("tools/web"), strings.Replace(traefikService("all", "{weighted: {services: [{name: web, port: 80}]}}"),
		"namespace: shop", "namespace: tools", 1))
	allowed := open(s.t, c, static, "--providers.kubernetesCRD.allowCrossNamespace")
	for _, manifest := range crossings() {
		c.Apply(manifest)
	}
	for _, host := range []string{"by-name.test/", "by-at.test/", "chained.test/"} {
		allowed.stamped(host, "tools")
	}
	for _, host := range []string{"service.test/", "weighted.test/", "foreign.test/"} {
		allowed.becomes(host, "200 tools/web")
	}
}

// awaitSecret refers to missing Secrets: requests are refused, and the verdict names the Secret.
func awaitSecret(c *cluster.Cluster, s *gate) {
	c.Apply(middleware("shop/auth", "{basicAuth: {secret: users}}"), guarded("shop/auth", "auth.test", "[{name: auth}]"))
	s.becomes("auth.test/", "503")
	s.reports("shop-auth@kubernetescrd", "Secret shop/users does not exist")
	c.Apply(secret("shop/users", "nothing: ''"))
	s.settles("Secret shop/users does not exist")
	s.expect("auth.test/", "503")
	s.reports("shop-auth@kubernetescrd")
	c.Apply(secret("shop/users", "nothing: 'ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='"))
	s.becomes("auth.test/", "401")
	s.settles("shop-auth@kubernetescrd")
	c.Apply(middleware("shop/auth", "{headers: {customResponseHeaders: {X-Stamp: open}}}"))
	s.stamped("auth.test/", "open")
	s.settles("shop-auth@kubernetescrd")
}

// secret is the manifest of a Secret at namespace/name with plain values.
func secret(path, values string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: " + namespace +
		"}\nstringData: {" + values + "}\n"
}

// crossProviders refers to middlewares of a file.
func crossProviders(c *cluster.Cluster, s *gate) {
	c.Apply(namespace("other"), app("other/web"),
		guarded("shop/file", "file.test", "[{name: filed@file}]"), guarded("other/file", "other.test",
			"[{name: filed@file}]"))
	file := open(s.t, c, static, "--providers.file.directory=${DYNAMIC}",
		"--providers.kubernetesCRD.crossProviderNamespaces=shop")
	file.Write("middlewares.yaml", "http: {middlewares: {filed: {headers: {customResponseHeaders: {X-Stamp: file}}}}}")
	file.stamped("file.test/", "file")
	file.expect("other.test/", "503")
	file.reports("other-file-", "crossProviderNamespaces")
	s.becomes("file.test/", "503")
}
