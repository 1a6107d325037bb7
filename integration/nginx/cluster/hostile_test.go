package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

// injected is the field that texts of attacks try to set.
const injected = "X-Injected"

// hostile is an Ingress of an attacker.
type hostile struct {
	name        string
	annotations notes
	// path has the type ImplementationSpecific; "/" of Prefix without.
	path string
	// status is that of a request for the path "/", 0 where 503 and the answer of the endpoint are both right.
	status int
	// refused says that the API server does not take it.
	refused bool
}

// attacks are injections of directives, as in the vulnerabilities of ingress-nginx of the years.
func attacks() []hostile {
	const directive = "add_header " + injected + " 1 always;"
	return []hostile{
		{name: "cve-2021-25742-server", status: 503, annotations: notes{
			"server-snippet": "location /injected { content_by_lua_block { ngx.say(io.open('/etc/passwd'):read('*a')) } }",
		}},
		{name: "cve-2021-25742-configuration", status: 503, annotations: notes{
			"configuration-snippet": directive + " set_by_lua_block $x { return os.execute('id') }",
		}},
		{name: "cve-2021-25745", path: "/;}location /injected{alias /etc/;autoindex on;", annotations: nil},
		{name: "cve-2021-25745-lines", path: "/#\n;}location /injected{root /;}"},
		{name: "cve-2021-25746-realm", status: 503, annotations: notes{
			"auth-type": "basic", "auth-secret": "none", "auth-realm": "x\";\n" + directive + "#",
		}},
		{name: "cve-2021-25746-range", status: 503, annotations: notes{
			"whitelist-source-range": "10.0.0.0/8;" + directive,
		}},
		{name: "cve-2021-25748", annotations: notes{"rewrite-target": "/$1\n;" + directive}},
		{name: "cve-2022-4886", path: "/injected(.*)\\x3b\\x7d", annotations: notes{"use-regex": "true"}},
		{name: "cve-2023-5043", status: 503, annotations: notes{
			"configuration-snippet": "more_set_headers '" + injected + ": 1';\nreturn 403;",
		}},
		{name: "cve-2023-5044", status: 503, annotations: notes{
			"permanent-redirect": "https://example.com/;}location ~* \"^/injected\" {content_by_lua 'ngx.say(1)';",
		}},
		{name: "cve-2024-7646-cr", status: 503, annotations: notes{
			"auth-tls-secret": home + "/none", "auth-tls-verify-client": "on;\r" + directive + "\r#",
		}},
		{name: "cve-2024-7646-header", annotations: notes{
			"custom-headers": home + "/none\r\n" + injected + ": 1",
		}},
		{name: "cve-2025-1097", status: 503, annotations: notes{
			"auth-tls-secret": home + "/none", "auth-tls-match-cn": "CN=abc #(\n){}\n }}\nssl_engine ../../../proc/1/fd/7;\n#",
		}},
		{name: "cve-2025-1098", annotations: notes{
			"mirror-target": "https://198.18.200.1/#;}}}\nssl_engine ../../../proc/1/fd/7;\n", "mirror-host": "x;\n" + directive,
		}},
		{name: "cve-2025-24513", status: 503, annotations: notes{
			"auth-type": "basic", "auth-secret": "../../../../etc/passwd",
		}},
		{name: "cve-2025-24514", status: 503, annotations: notes{
			"auth-url": "http://example.com/#;}}}\n\nssl_engine ../../../proc/1/fd/7;\n",
		}},
		{name: "secret-elsewhere", status: 503, annotations: notes{
			"auth-type": "basic", "auth-secret": "kube-system/admin",
		}},
		{name: "alias", annotations: notes{"server-alias": "calm.test;\n" + directive + ",~^calm\\.test$"}},
		{name: "vhost", annotations: notes{"upstream-vhost": "x\r\n" + injected + ": 1"}},
		{name: "prefix", annotations: notes{"x-forwarded-prefix": "/x\r\n" + injected + ": 1"}},
		{name: "cookie", annotations: notes{
			"affinity": "cookie", "session-cookie-name": "a=1; Path=/\r\n" + injected + ": 1", "session-cookie-path": "/;\r\n",
		}},
		{name: "cors", annotations: notes{
			"enable-cors": "true", "cors-allow-headers": "X\r\n" + injected + ": 1",
			"cors-allow-origin": "https://x\";" + directive,
		}},
		{name: "signin", status: 503, annotations: notes{
			"auth-url": "http://198.18.200.1:8080/", "auth-signin": "https://x/?a=$http_x\r\n" + injected + ": 1",
			"auth-response-headers": "X-A;\r\n" + directive,
		}},
		{name: "hash", annotations: notes{"upstream-hash-by": "$request_uri;\n" + directive}},
		{name: "ciphers", annotations: notes{"ssl-ciphers": "ALL;\n" + directive}},
		{name: "size", annotations: notes{
			"proxy-body-size": "1m;\n" + directive, "limit-rps": "-1", "proxy-read-timeout": "1e99",
		}},
	}
}

// floods are large values and expressions that would take long.
func floods() []hostile {
	const most = 250 << 10 // The API server takes 256 KiB of annotations.
	repeat := func(text string) string { return strings.Repeat(text, most/len(text)) }
	lines := func(format string) string {
		var text strings.Builder
		for i := 0; text.Len() < most-64; i++ {
			fmt.Fprintf(&text, format, i>>8&0xff, i&0xff)
		}
		return text.String()
	}
	all := []hostile{
		{name: "bomb-star", path: "/(a*)*b", annotations: notes{"use-regex": "true"}},
		{name: "bomb-count", path: "/((x{1000}){1000}){1000}", annotations: notes{"use-regex": "true"}, status: 503},
		{name: "bomb-or", path: "/(a|a|a?)+$", annotations: notes{"use-regex": "true"}},
		{name: "bomb-depth", path: "/" + strings.Repeat("(", 5000) + strings.Repeat(")", 5000), annotations: notes{
			"use-regex": "true",
		}},
		{name: "bomb-length", path: "/" + strings.Repeat("(a|b)*", 20000), annotations: notes{"use-regex": "true"}},
		{name: "bomb-rewrite", path: "/((.*)(.*)(.*)(.*))", annotations: notes{
			"rewrite-target": "/" + strings.Repeat("$1", 5000),
		}},
		{name: "bomb-pattern", annotations: notes{"server-alias": "~^" + strings.Repeat("(a*)*", 1000) + "$"}},
		{name: "flood-more", annotations: notes{"cors-allow-origin": strings.Repeat("x", 300<<10)}, refused: true},
		{name: "flood-alias", annotations: notes{"server-alias": lines("a%d-%d.alias.test,")}},
		{name: "flood-range", annotations: notes{"whitelist-source-range": lines("10.%d.%d.0/24,") + "10.0.0.0/8"}},
		{name: "flood-origin", annotations: notes{
			"enable-cors": "true", "cors-allow-origin": lines("https://*.%d-%d.test,"),
		}},
		{name: "flood-errors", annotations: notes{"custom-http-errors": lines("4%02[2]d,%[1]d,") + "404"}},
		{name: "flood-realm", status: 503, annotations: notes{
			"auth-type": "basic", "auth-secret": "none", "auth-realm": repeat("r"),
		}},
		{name: "flood-snippet", annotations: notes{"configuration-snippet": repeat("if ($a) { set $b \"{\"; } ")}},
		{name: "flood-braces", annotations: notes{"server-snippet": repeat("{")}},
		{name: "flood-cut", annotations: notes{"configuration-snippet": repeat("\\\"'#") + "deny all;"}},
	}
	for i, key := range []string{
		"rewrite-target", "auth-url", "permanent-redirect", "proxy-body-size", "upstream-vhost", "mirror-target",
		"session-cookie-name", "canary-by-header-pattern", "auth-tls-match-cn", "ssl-ciphers", "proxy-next-upstream",
	} {
		all = append(all, hostile{name: "flood-" + key, annotations: notes{key: repeat(string(rune('a' + i)))}})
	}
	keys := notes{}
	for i := range 3000 {
		keys[fmt.Sprintf("unknown-annotation-%04d", i)] = "x"
	}
	return append(all, hostile{name: "flood-keys", annotations: keys})
}

// object returns the Ingress for the host NAME.test.
func (h hostile) object() *networkingv1.Ingress {
	if h.path == "" {
		return ingress(h.name, h.name+".test", "main", h.annotations)
	}
	return ingressAt(h.name, h.name+".test", h.path, networkingv1.PathTypeImplementationSpecific, "main", h.annotations)
}

// TestHostileAnnotations has a tenant write what would attack nginx, and what would keep a parser busy. Other hosts are
// served as before, and each of these answers 503, or as if the text meant nothing.
func TestHostileAnnotations(t *testing.T) {
	w := prepare(t, "main")
	w.put(ingress("calm", "calm.test", "main", nil))
	g := open(w, static)
	g.becomes("calm.test/", "200 main")
	for name, all := range map[string][]hostile{"injections": attacks(), "floods": floods()} {
		t.Run(name, func(t *testing.T) { withstands(w.on(t), g.on(t), all) })
	}
}

// withstands creates Ingresses while another host is requested, and removes them.
func withstands(w *world, g *gate, all []hostile) {
	traffic := population.StartTraffic(w.t, g.Addr("web"), []string{"calm.test"}, nil)
	logged, used := len(g.Log.String()), harness.CPU(w.t, g.PID())
	for _, h := range all {
		err := w.tryPut(w.t.Context(), h.object())
		if refused := apierrors.IsInvalid(err); refused != h.refused || err != nil && !refused {
			w.t.Errorf("%s: the API server says %.300v", h.name, err)
		}
	}
	w.put(ingress("marker", "marker.test", "main", nil))
	g.becomes("marker.test/", "200 main")
	for _, h := range all {
		if !h.refused {
			g.inert(h)
		}
	}
	tally := traffic.Stop()
	if tally.Failed > 0 {
		w.t.Errorf("%d of %d requests to another host failed: %s", tally.Failed, tally.All, tally.FirstWrong)
	}
	g.bounded(len(all), logged, used)
	for _, h := range all {
		if !h.refused {
			w.DeleteNow("Ingress.networking.k8s.io", home+"/"+h.name)
		}
	}
	w.DeleteNow("Ingress.networking.k8s.io", home+"/marker")
	g.becomes("marker.test/", "404")
	g.expect("calm.test/", "200 main")
}

// inert sends requests to a hostile host. Each answer is one of Sluice's own, or the endpoint's, and none has what the
// text tries to put there.
func (g *gate) inert(h hostile) {
	g.t.Helper()
	for _, path := range []string{"/", "/injected", "/injected/passwd", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		request := g.web.Request(http.MethodGet, path, nil)
		request.Host = h.name + ".test"
		request.Header.Set(population.FieldEcho, "yes")
		request.Header.Set("Origin", "https://x")
		answer, err := g.web.Try(request)
		if err != nil {
			g.t.Errorf("%s%s: %v", h.name, path, err)
			continue
		}
		backend := answer.Header.Get(population.FieldBackend)
		inert := answer.StatusCode == http.StatusOK && backend == "main" || answer.StatusCode == http.StatusNotFound &&
			h.path != ""
		denied := backend == "" && (answer.StatusCode == http.StatusServiceUnavailable ||
			answer.StatusCode == http.StatusBadRequest) // A target may become too long.
		if !inert && !denied || path == "/" && h.status != 0 && answer.StatusCode != h.status && h.path == "" {
			g.t.Errorf("%s%s is answered by %d %q", h.name, path, answer.StatusCode, backend)
		}
		if strings.Contains(strings.ToLower(fmt.Sprint(answer.Header, answer.Text)), strings.ToLower(injected)) ||
			strings.Contains(answer.Text, "root:") {
			g.t.Errorf("%s%s: the injection is in %.500v %.500s", h.name, path, answer.Header, answer.Text)
		}
	}
}

// The bounds of what a number of hostile Ingresses may cost. They are far above what they cost.
const (
	mostLine        = 8 << 10
	mostLogged      = 32 << 10 // per Ingress
	mostMemory      = 700 << 20
	mostCPUOfSluice = 30 * time.Second
)

// bounded compares log, memory and CPU with the bounds.
func (g *gate) bounded(count, logged int, used time.Duration) {
	g.t.Helper()
	text := g.Log.String()[logged:]
	longest := 0
	for line := range strings.Lines(text) {
		longest = max(longest, len(line))
	}
	spent := harness.CPU(g.t, g.PID()) - used
	now, peak := g.Memory()
	g.t.Logf("%d Ingresses: %d bytes of log, the longest line has %d, CPU %v, memory %d MiB, peak %d MiB", count, len(text),
		longest, spent, now>>20, peak>>20)
	if longest > mostLine || len(text) > count*mostLogged {
		g.t.Errorf("the log has %d bytes, its longest line %d", len(text), longest)
	}
	if spent > mostCPUOfSluice {
		g.t.Errorf("the Ingresses cost %v of CPU", spent)
	}
	if peak > mostMemory {
		g.t.Errorf("the memory was %d MiB", peak>>20)
	}
	for _, finding := range g.Readiness().Verdicts {
		if len(finding.Reason) > mostLine {
			g.t.Errorf("a verdict on %s has %d bytes", finding.Name, len(finding.Reason))
		}
	}
}

// TestHostilePaths has one Ingress with as many paths as the API server takes, all of them regular expressions.
func TestHostilePaths(t *testing.T) {
	w := prepare(t, "main")
	w.put(ingress("calm", "calm.test", "main", nil))
	g := open(w, static)
	g.becomes("calm.test/", "200 main")
	object := ingress("paths", "paths.test", "main", notes{"use-regex": "true"})
	paths := object.Spec.Rules[0].HTTP.Paths[:1:1]
	kind := networkingv1.PathTypeImplementationSpecific
	for i := range 3000 {
		paths = append(paths, networkingv1.HTTPIngressPath{
			Path: fmt.Sprintf("/p%d/(a+)+/[0-9]{1,%d}$", i, i%500+1), PathType: &kind, Backend: paths[0].Backend,
		})
	}
	object.Spec.Rules[0].HTTP.Paths = paths
	logged, used := len(g.Log.String()), harness.CPU(t, g.PID())
	traffic := population.StartTraffic(t, g.Addr("web"), []string{"calm.test"}, nil)
	w.put(object)
	g.becomes("paths.test/p2999/aaaa/1", "200 main")
	g.expect("paths.test/p1/aaaa/1", "200 main")
	tally := traffic.Stop()
	if tally.Failed > 0 {
		t.Errorf("%d of %d requests to another host failed: %s", tally.Failed, tally.All, tally.FirstWrong)
	}
	g.bounded(10, logged, used)
	w.DeleteNow("Ingress.networking.k8s.io", home+"/paths")
	g.becomes("paths.test/", "404")
}
