package nginxmodel_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/source"
)

// ingress returns the text of an Ingress whose paths are "PATH TYPE SERVICE"; annotations are "KEY: VALUE".
func ingress(name, host string, annotations []string, paths ...string) string {
	var out strings.Builder
	put := func(text string) { _, _ = out.WriteString(text) }
	put("---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: " + name + "\n  annotations:\n")
	put("    unrelated: \"\"\n")
	for _, one := range annotations {
		key, value, _ := strings.Cut(one, ": ")
		put("    nginx.ingress.kubernetes.io/" + key + ": '" + value + "'\n")
	}
	put("spec:\n  ingressClassName: nginx\n  rules:\n  - http:\n      paths:\n")
	for _, one := range paths {
		words := strings.Fields(one)
		put("      - {path: '" + words[0] + "', pathType: " + words[1] + ", backend: {service: {name: " + words[2] +
			", port: {number: 80}}}}\n")
	}
	if host != "" {
		put("    host: '" + host + "'\n")
	}
	return out.String()
}

// born gives an Ingress the year of its creation.
func born(year, text string) string {
	return strings.Replace(text, "metadata:\n", "metadata:\n  creationTimestamp: "+year+"-01-01T00:00:00Z\n", 1)
}

// secured gives an Ingress a TLS section.
func secured(text string) string {
	return strings.Replace(text, "spec:\n", "spec:\n  tls: [{secretName: pair}]\n", 1)
}

func build(t *testing.T, config nginxmodel.Config, texts ...string) *nginxmodel.Model {
	t.Helper()
	objects, err := source.Read(strings.NewReader(strings.Join(texts, "\n")), source.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects.Faults) > 0 {
		t.Fatal(objects.Faults)
	}
	return nginxmodel.Build(objects, config)
}

// request parses "METHOD SCHEME://HOST/TARGET" with headers "Name: value".
func request(text string, header ...string) probe.Probe {
	method, address, _ := strings.Cut(text, " ")
	scheme, rest, _ := strings.Cut(address, "://")
	host, target, _ := strings.Cut(rest, "/")
	out := probe.Probe{Method: method, Scheme: scheme, Host: host, Target: "/" + target, Header: http.Header{}}
	for _, one := range header {
		name, value, _ := strings.Cut(one, ": ")
		out.Header.Add(name, value)
	}
	return out
}

func ask(t *testing.T, m *nginxmodel.Model, p probe.Probe) answer.Answer {
	t.Helper()
	got, err := m.Answer(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// short returns the Service and target of a request that reaches one, or the status with the Location.
func short(a answer.Answer) string {
	if a.Upstream != nil {
		name, _, _ := strings.Cut(strings.TrimPrefix(a.Upstream.Service, "default/"), ":")
		return name + " " + a.Upstream.Target
	}
	return strings.TrimSpace(http.StatusText(a.Status) + " " + a.Header.Get("Location"))
}

func expect(t *testing.T, m *nginxmodel.Model, wants map[string]string) {
	t.Helper()
	for text, want := range wants {
		if !strings.Contains(text, "://") {
			text = "GET http://a.example" + text
		}
		if got := short(ask(t, m, request(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", nil, "/exact Exact exact", "/foo Prefix foo",
		"/foo/bar/ Prefix bar", "/only ImplementationSpecific only", "/end/ Exact end"))
	expect(t, m, map[string]string{
		"/exact":             "exact /exact",
		"/exact/":            "Not Found",
		"/Exact":             "Not Found",
		"/foo":               "foo /foo",
		"/foo/":              "foo /foo/",
		"/foo/x?a=b":         "foo /foo/x?a=b",
		"/foobar":            "Not Found",
		"/foo/bar":           "Moved Permanently http://a.example/foo/bar/",
		"/foo/bar/x":         "bar /foo/bar/x",
		"/foo/barx":          "foo /foo/barx",
		"/only/x":            "only /only/x",
		"/onlyx":             "Not Found",
		"/end?a=b":           "Moved Permanently http://a.example/end/?a=b",
		"/end/":              "end /end/",
		"//foo//x":           "foo //foo//x",
		"/%66oo/x":           "foo /%66oo/x",
		"/other/../foo/x":    "foo /other/../foo/x",
		"/other/..%2Ffoo/x":  "foo /other/..%2Ffoo/x",
		"/foo/../..":         "Bad Request",
		"/foo%00":            "Bad Request",
		"/":                  "Not Found",
		"GET http://b.test/": "Not Found",
	})
}

func TestExpressionsChangeTheWholeHost(t *testing.T) {
	for _, annotation := range []string{"use-regex: true", "rewrite-target: /new"} {
		plain := ingress("one", "a.example", nil, "/exact Exact exact", "/foo Prefix foo")
		m := build(t, nginxmodel.Config{}, born("2020", plain),
			ingress("two", "a.example", []string{annotation}, "/re[0-9]+x Prefix re"))
		target := "/re77x/y"
		if strings.HasPrefix(annotation, "rewrite") {
			target = "/new"
		}
		expect(t, m, map[string]string{
			"/exact":     "exact /exact",
			"/EXACTLY":   "exact /EXACTLY",
			"/Foo":       "foo /Foo",
			"/foo/x":     "foo /foo/x",
			"/foobar":    "foo /foobar",
			"/re77x/y":   "re " + target,
			"/re[0-9]+x": "Not Found",
		})
		all := m.Interactions()
		if len(all) == 0 || all[0].Cause != "default/two" || !slices.Equal(all[0].Affected, []string{"default/one"}) {
			t.Errorf("interactions %+v", all)
		}
	}
}

// TestTwinsKeepThePlaceOfTheirPath: paths are ordered before each plain prefix becomes two locations.
func TestTwinsKeepThePlaceOfTheirPath(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", nil, "/foo Prefix foo"),
		ingress("two", "a.example", []string{"use-regex: true"}, "/fo.* Prefix re"))
	expect(t, m, map[string]string{"/foo/x": "re /foo/x", "/foo": "re /foo"})
}

func TestHosts(t *testing.T) {
	alias := []string{"server-alias: alias.test,~^re[0-9]+\\.test$"}
	m := build(t, nginxmodel.Config{}, ingress("exact", "a.example.com", alias, "/ Prefix exact"),
		ingress("wild", "*.example.com", nil, "/ Prefix wild"), ingress("any", "", nil, "/ Prefix any"),
		ingress("www", "shop.test", []string{"from-to-www-redirect: true"}, "/ Prefix www"))
	expect(t, m, map[string]string{
		"GET http://a.example.com/":       "exact /",
		"GET http://A.EXAMPLE.com:8080/":  "exact /",
		"GET http://b.example.com/":       "wild /",
		"GET http://two.b.example.com/":   "any /",
		"GET http://example.com/":         "any /",
		"GET http://alias.test/":          "exact /",
		"GET http://RE7.test/":            "exact /",
		"GET http://re.test/":             "any /",
		"GET http://shop.test/":           "www /",
		"GET http://www.shop.test/a/?b=c": "Permanent Redirect http://shop.test:80/a/?b=c",
		"GET https://www.shop.test/a/":    "Permanent Redirect https://shop.test:443/a",
	})
}

func TestTheOldestIngressWins(t *testing.T) {
	m := build(t, nginxmodel.Config{}, born("2024", ingress("a", "a.example", nil, "/x Prefix young")),
		born("2020", ingress("b", "a.example", []string{"whitelist-source-range: 10.0.0.0/8"}, "/x Prefix old")),
		ingress("c", "b.example", nil, "/x Prefix low"), ingress("d", "b.example", nil, "/x Prefix high"))
	expect(t, m, map[string]string{
		"/x":                     "Forbidden",
		"/undeclared":            "Forbidden",
		"GET http://b.example/x": "high /x",
	})
	problems := m.Problems()
	if len(problems) != 2 || problems[0].Ingress != "default/c" || problems[1].Ingress != "default/a" {
		t.Errorf("problems %+v", problems)
	}
}

func TestClasses(t *testing.T) {
	const classes = "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\n" +
		"spec: {controller: k8s.io/ingress-nginx}\n---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\n" +
		"metadata: {name: nginx}\nspec: {controller: example.com/other}\n"
	one := ingress("one", "a.example", nil, "/ Prefix one")
	public := strings.Replace(one, "ingressClassName: nginx", "ingressClassName: public", 1)
	annotated := strings.Replace(strings.Replace(one, "  ingressClassName: nginx\n", "", 1), "unrelated: \"\"",
		"kubernetes.io/ingress.class: nginx", 1)
	none := strings.Replace(one, "  ingressClassName: nginx\n", "", 1)
	for _, test := range []struct {
		config nginxmodel.Config
		texts  []string
		claims bool
	}{
		{nginxmodel.Config{}, []string{one}, true},
		{nginxmodel.Config{}, []string{classes, one}, false},
		{nginxmodel.Config{ClassByName: true}, []string{classes, one}, true},
		{nginxmodel.Config{}, []string{classes, public}, true},
		{nginxmodel.Config{}, []string{public}, false},
		{nginxmodel.Config{}, []string{classes, annotated}, true},
		{nginxmodel.Config{Class: "other"}, []string{annotated}, false},
		{nginxmodel.Config{}, []string{none}, false},
		{nginxmodel.Config{WithoutClass: true}, []string{none}, true},
	} {
		if got := len(build(t, test.config, test.texts...).Ingresses()) == 1; got != test.claims {
			t.Errorf("%+v with %q: %t", test.config, test.texts, got)
		}
	}
}

func TestBackends(t *testing.T) {
	const services = "---\napiVersion: v1\nkind: Service\nmetadata: {name: up}\nspec: {ports: [{name: web, port: 80}]}\n" +
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: down}\nspec: {ports: [{port: 80}]}\n" +
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: stand}\nspec: {ports: [{port: 8080}]}\n"
	slice := func(service string) string {
		return "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: " + service +
			", labels: {kubernetes.io/service-name: " + service + "}}\naddressType: IPv4\n" +
			"endpoints: [{addresses: [198.18.0.1]}]\n"
	}
	paths := []string{"/up Prefix up", "/down Prefix down", "/missing Prefix missing"}
	m := build(t, nginxmodel.Config{DefaultBackend: "default/stand"}, services, slice("up"), slice("stand"),
		ingress("one", "a.example", nil, paths...),
		ingress("two", "b.example", []string{"default-backend: stand"}, paths...),
		ingress("three", "c.example", []string{"custom-http-errors: 503"}, paths...))
	expect(t, m, map[string]string{
		"/up":                          "up /up",
		"/down":                        "Service Unavailable",
		"/missing":                     "Service Unavailable",
		"/undeclared":                  "stand /undeclared",
		"GET http://other.test/x":      "stand /x",
		"GET http://b.example/down":    "stand /down",
		"GET http://c.example/down?x":  "stand /?x",
		"GET http://c.example/missing": "stand /",
	})
	got := ask(t, m, request("GET http://c.example/down?x")).Upstream
	if got.Header.Get("X-Code") != "503" || got.Header.Get("X-Original-Uri") != "/down?x" ||
		got.Header.Get("X-Ingress-Name") != "three" || got.Header.Get("X-Service-Name") != "down" {
		t.Errorf("the default backend receives %+v", got)
	}
	if got := ask(t, m, request("GET http://b.example/down")).Upstream; got.Service != "default/stand:8080" {
		t.Errorf("the stand-in is %s", got.Service)
	}
}

func TestNamedPorts(t *testing.T) {
	const service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: up}\nspec: {ports: [{name: web, port: 8080}]}\n"
	text := strings.Replace(ingress("one", "a.example", nil, "/ Prefix up"), "{number: 80}", "{name: web}", 1)
	got := ask(t, build(t, nginxmodel.Config{}, service, text), request("GET http://a.example/"))
	if got.Upstream == nil || got.Upstream.Service != "default/up:8080" {
		t.Errorf("answer %+v", got)
	}
	if got := short(ask(t, build(t, nginxmodel.Config{}, service, ingress("one", "a.example", nil, "/ Prefix up")),
		request("GET http://a.example/"))); got != "Service Unavailable" {
		t.Errorf("a port that the Service does not have: %s", got)
	}
}

// tryBuild returns the model of a text; nil when it cannot be read.
func tryBuild(t *testing.T, text string) *nginxmodel.Model {
	t.Helper()
	objects, err := source.Read(strings.NewReader(text), source.Stream)
	if err != nil || len(objects.Faults) > 0 {
		return nil
	}
	return nginxmodel.Build(objects, nginxmodel.Config{})
}

// TestDisableCatchAll demands that a default backend counts, with rules beside it or not.
func TestDisableCatchAll(t *testing.T) {
	backend := strings.Replace(ingress("one", "a.example", nil, "/ Prefix a"), "spec:\n",
		"spec:\n  defaultBackend: {service: {name: all, port: {number: 80}}}\n", 1)
	for disabled, want := range map[bool]string{false: "a /", true: "Not Found"} {
		m := build(t, nginxmodel.Config{DisableCatchAll: disabled}, backend, ingress("two", "b.example", nil, "/ Prefix b"))
		expect(t, m, map[string]string{"/": want, "GET http://b.example/": "b /"})
	}
}
