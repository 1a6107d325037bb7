package ingressnginx

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// protection is what a host has, beside an Ingress for "/" and one for the host of all others: annotations of the
// Ingress of /protected, keys of the ConfigMap, and more objects.
type protection struct {
	annotations, settings map[string]string
	objects               string
	// host is the status of the host's other paths, and hostTLS that over TLS; 0 stands for 200.
	host, hostTLS int
}

// ingressOf returns the manifest of an Ingress.
func ingressOf(name, host, path, service string, annotations map[string]string) string {
	var out strings.Builder
	out.WriteString("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: " + name +
		"\n  namespace: shop\n  annotations:\n    other: x\n")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Fprintf(&out, "    nginx.ingress.kubernetes.io/%s: %s\n", key, strconv.Quote(annotations[key]))
	}
	out.WriteString("spec:\n  ingressClassName: nginx\n  rules:\n  - ")
	if host != "" {
		out.WriteString("host: \"" + host + "\"\n    ")
	}
	fmt.Fprintf(&out, "http:\n      paths:\n      - {pathType: Prefix, path: %q, backend: {service: {name: %s, port: "+
		"{number: 80}}}}\n", path, service)
	return out.String()
}

// provider returns the provider of the host with more annotations of /protected, and perhaps a canary.
func (p *protection) provider(t *testing.T, more map[string]string, canary bool) *Provider {
	t.Helper()
	cluster := newCluster()
	annotations := maps.Clone(p.annotations)
	for key, value := range more {
		_, given := annotations[key]
		_, old := annotations["whitelist-source-range"]
		if !given && (!old || key != "allowlist-source-range") && (p.annotations["auth-type"] == "" || key != "auth-secret") {
			annotations[key] = value
		}
	}
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	manifests := []string{
		ingressOf("protected", "a.example.com", "/protected", "web", annotations),
		ingressOf("open", "a.example.com", "/", "api", nil),
		ingressOf("wildcard", "*.example.com", "/", "api", nil), ingressOf("any", "", "/", "api", nil),
		"apiVersion: v1\nkind: Secret\nmetadata: {name: users, namespace: shop}\ndata: {auth: YTp7UExBSU59Yg==}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: users, namespace: other}\ndata: {auth: YTp7UExBSU59Yg==}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: empty, namespace: shop}\ndata: {other: YQ==}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: damaged, namespace: shop}\ndata: {ca.crt: YQ==, auth: YQ==}\n",
		string(secretOf(t, "testdata/clients.yaml", "authority")),
	}
	if canary {
		manifests = append(manifests, ingressOf("canary", "a.example.com", "/protected", "api", map[string]string{
			"canary": "true", "canary-weight": "100",
		}))
	}
	if p.objects != "" {
		manifests = append(manifests, p.objects)
	}
	config := defaultConfig()
	if p.settings != nil {
		config.ConfigMap = "shop/settings"
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata:\n"
		for key, value := range p.settings {
			text += fmt.Sprintf("  %s: %q\n", key, value)
		}
		manifests = append(manifests, text)
	}
	for _, manifest := range manifests {
		cluster.apply(t, []byte(manifest))
	}
	return cluster.provider(config)
}

// statusOf returns the status of a request to a.example.com.
func (a table) statusOf(t *testing.T, path string, secure bool) int {
	t.Helper()
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), &telemetry.Record{}), http.MethodGet, path,
		http.NoBody)
	r.Host = "a.example.com"
	if secure {
		options, ok := a.active.TLS("web").SelectTLS(r.Host)
		if !ok {
			t.Fatal("there are no TLS options")
		}
		r.TLS = &tls.ConnectionState{ServerName: r.Host}
		connection := &certificate.Connection{Fingerprint: options.Fingerprint, ServerName: r.Host}
		r = r.WithContext(certificate.WithConnection(r.Context(), connection))
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Code
}

// protections are what cannot be done, by name.
func protections() map[string]protection {
	with := func(pairs ...string) protection {
		annotations := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			annotations[pairs[i]] = pairs[i+1]
		}
		return protection{annotations: annotations}
	}
	on := func(p protection, key, value string) protection {
		p.settings = map[string]string{key: value}
		return p
	}
	whole := func(p protection) protection {
		p.host, p.hostTLS = http.StatusServiceUnavailable, http.StatusServiceUnavailable
		return p
	}
	basic := func(secret string) protection { return with("auth-type", "basic", "auth-secret", secret) }
	const url, level = "http://auth.example.com/", "annotations-risk-level"
	long := "CN=" + strings.Repeat("x", annotation.MostValue)
	all := map[string]protection{
		"allow list: value":   with("allowlist-source-range", "nonsense"),
		"allow list: empty":   with("allowlist-source-range", ""),
		"allow list: alias":   with("whitelist-source-range", "10.0.0.0/40"),
		"allow list: risk":    on(with("allowlist-source-range", "0.0.0.0/0"), level, "Low"),
		"allow list: proxies": on(with("allowlist-source-range", "0.0.0.0/0"), "use-forwarded-headers", "true"),
		"deny list: value":    with("denylist-source-range", "nonsense"),
		"deny list: risk":     on(with("denylist-source-range", "10.0.0.1"), level, "Low"),
		"deny list: proxies":  on(with("denylist-source-range", "10.0.0.1"), "enable-real-ip", "true"),
		"deny list: PROXY":    on(with("denylist-source-range", "10.0.0.1"), "use-proxy-protocol", "true"),
		"block list: proxies": whole(protection{settings: map[string]string{
			"block-cidrs": "10.0.0.1", "use-forwarded-headers": "true",
		}}),
		"block list: value":         whole(on(with(), "block-cidrs", "nonsense")),
		"basic: value":              with("auth-type", "ntlm", "auth-secret", "users"),
		"basic: no Secret":          with("auth-type", "basic"),
		"basic: missing":            basic("absent"),
		"basic: foreign":            basic("other/users"),
		"basic: no key":             basic("empty"),
		"basic: damaged":            basic("damaged"),
		"basic: name":               basic("a/b/c"),
		"basic: risk":               on(basic("users"), level, "Low"),
		"basic: form":               with("auth-type", "basic", "auth-secret", "users", "auth-secret-type", "x"),
		"basic: realm":              with("auth-type", "basic", "auth-secret", "users", "auth-realm", "a\"b"),
		"digest: missing":           with("auth-type", "digest", "auth-secret", "absent"),
		"subrequest: value":         with("auth-url", "nonsense"),
		"subrequest: characters":    with("auth-url", url+"{x}"),
		"subrequest: variable":      with("auth-url", url+"$nope"),
		"subrequest: its host":      with("auth-url", "http://$host/"),
		"subrequest: method":        with("auth-url", url, "auth-method", "BREW"),
		"subrequest: headers":       with("auth-url", url, "auth-response-headers", "a b{"),
		"subrequest: missing":       with("auth-url", url, "auth-proxy-set-headers", "shop/absent"),
		"subrequest: foreign":       with("auth-url", url, "auth-proxy-set-headers", "other/headers"),
		"subrequest: cache":         with("auth-url", url, "auth-cache-key", "a", "auth-cache-duration", "200"),
		"subrequest: cookies":       with("auth-url", url, "auth-always-set-cookie", "perhaps"),
		"subrequest: redirect":      with("auth-url", url, "auth-request-redirect", "{"),
		"subrequest: snippet":       with("auth-url", url, "auth-snippet", "proxy_set_header A b;"),
		"subrequest: risk":          on(with("auth-url", url), level, "Medium"),
		"subrequest: of the whole":  whole(on(with(), "global-auth-url", "nonsense")),
		"certificate: value":        whole(with("auth-tls-secret", "authority")),
		"certificate: characters":   whole(with("auth-tls-secret", "shop/a{}")),
		"certificate: subject":      whole(with("auth-tls-secret", "shop/authority", "auth-tls-match-cn", "nonsense")),
		"certificate: missing":      whole(with("auth-tls-secret", "shop/absent")),
		"certificate: foreign":      whole(with("auth-tls-secret", "other/authority")),
		"certificate: no authority": whole(with("auth-tls-secret", "shop/empty")),
		"certificate: damaged":      whole(with("auth-tls-secret", "shop/damaged")),
		"limit: value":              with("limit-rps", "many"),
		"limit: allow list":         with("limit-rps", "9", "limit-allowlist", "nonsense"),
		"limit: proxies": on(with("limit-rps", "9", "limit-allowlist", "10.0.0.1"),
			"use-forwarded-headers", "true"),
		"connections: value":    with("limit-connections", "many"),
		"firewall":              with("enable-modsecurity", "true"),
		"firewall: value":       with("enable-modsecurity", "perhaps"),
		"upstream TLS: missing": with("proxy-ssl-secret", "shop/absent"),
		"upstream TLS: foreign": with("proxy-ssl-secret", "other/users"),
		"upstream TLS: verify":  with("proxy-ssl-secret", "shop/authority", "proxy-ssl-verify", "perhaps"),
		"forbidden word":        on(with("app-root", "/load_module"), "annotation-value-word-blocklist", "load_module"),
	}
	maps.Copy(all, snippets(long))
	risky := on(with("auth-tls-secret", "shop/authority"), level, "Low")
	risky.hostTLS = http.StatusBadRequest // The certificate is demanded on the whole host.
	all["certificate: risk"] = risky
	return all
}

// snippets are snippets that protect.
func snippets(long string) map[string]protection {
	all := map[string]protection{}
	for name, text := range map[string]string{
		"rule": "deny 10.0.0.1;", "address": "set_real_ip_from 10.0.0.0/8;",
		"identity": "proxy_set_header X-Remote-User $remote_user;",
	} {
		all["snippet: "+name] = protection{annotations: map[string]string{"configuration-snippet": text}}
	}
	for name, text := range map[string]string{"rule": "location /admin { deny all; }", "length": "# " + long} {
		all["snippet of the server: "+name] = protection{
			annotations: map[string]string{"server-snippet": text},
			settings:    map[string]string{"annotations-risk-level": "Critical"},
			host:        http.StatusServiceUnavailable, hostTLS: http.StatusServiceUnavailable,
		}
		all["snippet of the server above the risk: "+name] = protection{
			annotations: map[string]string{"server-snippet": text},
			settings:    map[string]string{"annotations-risk-level": "High"},
		}
		all["snippet of the server, and the risk is not known: "+name] = protection{
			annotations: map[string]string{"server-snippet": text},
			host:        http.StatusServiceUnavailable, hostTLS: http.StatusServiceUnavailable,
		}
	}
	for list, text := range map[string]string{
		"allowlist-source-range": "set_real_ip_from 10.0.0.0/8;", "denylist-source-range": "real_ip_header X-Client;",
	} {
		all["snippet of the ConfigMap: "+list] = protection{
			annotations: map[string]string{list: "10.0.0.1"}, settings: map[string]string{"http-snippet": text},
		}
	}
	return all
}

// TestProtectionCloses demands that a location answers 503 which cannot be protected as its Ingress demands, also where
// another location, another host or a canary would answer, and whatever else would let the request pass.
func TestProtectionCloses(t *testing.T) {
	variants := map[string]struct {
		more   map[string]string
		canary bool
	}{
		"alone":       {},
		"satisfy any": {more: map[string]string{"satisfy": "any", "allowlist-source-range": "0.0.0.0/0,::/0"}},
		"password":    {more: map[string]string{"satisfy": "any", "auth-type": "basic", "auth-secret": "users"}},
		"canary":      {canary: true},
	}
	for name, one := range protections() {
		for variant, with := range variants {
			t.Run(name+"/"+variant, func(t *testing.T) {
				if one.annotations == nil {
					one.annotations = map[string]string{}
				}
				active := serve(t, translated(t, one.provider(t, with.more, with.canary)))
				for _, secure := range []bool{false, true} {
					for _, path := range []string{"/protected", "/protected/", "/protected/x", "/%70rotected/x", "//protected//x"} {
						if got := active.statusOf(t, path, secure); got != http.StatusServiceUnavailable {
							t.Errorf("%s, TLS %v: %d", path, secure, got)
						}
					}
					want := max(http.StatusOK, one.host)
					if secure {
						want = max(http.StatusOK, one.hostTLS)
					}
					if got := active.statusOf(t, "/other", secure); got != want {
						t.Errorf("/other, TLS %v: %d, want %d", secure, got, want)
					}
				}
			})
		}
	}
}

// TestListsBehindProxies sends requests through load balancers to entrypoints that trust some of them.
func TestListsBehindProxies(t *testing.T) {
	const proxy, stranger, client, inside = "10.0.0.1", "198.51.100.9", "203.0.113.7", "10.9.9.9"
	trusted := []string{"10.0.0.0/24"}
	for name, test := range map[string]struct {
		settings map[string]string
		trusted  []string
		strategy *static.IPAllowListStrategy
		peer     string
		chain    string
		// denied is the status of a list that denies the client, and allowed that of one that allows 10.0.0.0/8.
		denied, allowed int
	}{
		"no proxies":        {nil, trusted, nil, proxy, client, 200, 200},
		"behind one":        {proxied(), trusted, nil, proxy, client, 403, 403},
		"forged in front":   {proxied(), trusted, nil, proxy, inside + ", " + client, 403, 403},
		"behind two":        {proxied(), trusted, nil, proxy, inside + ", " + client + ", 10.0.0.2", 403, 403},
		"a client inside":   {proxied(), trusted, nil, proxy, inside, 200, 200},
		"no header":         {proxied(), trusted, nil, proxy, "", 200, 200},
		"a stranger forges": {proxied(), trusted, nil, stranger, inside, 200, 403},
		"the client itself": {proxied(), trusted, nil, client, inside, 403, 403},
		"a narrower CIDR":   {proxied("proxy-real-ip-cidr", "10.0.0.2"), trusted, nil, proxy, client, 200, 200},
		"a CIDR with others": {
			proxied("proxy-real-ip-cidr", "192.0.2.0/24,10.0.0.0/24"), trusted, nil, proxy, client, 503, 503,
		},
		"a CIDR of others":      {proxied("proxy-real-ip-cidr", "192.0.2.0/24"), trusted, nil, proxy, client, 503, 503},
		"a name for a CIDR":     {proxied("proxy-real-ip-cidr", "balancer.local"), trusted, nil, proxy, client, 503, 503},
		"another header":        {proxied("forwarded-for-header", "X-Client"), trusted, nil, proxy, client, 503, 503},
		"nothing is trusted":    {proxied(), nil, nil, proxy, client, 503, 503},
		"by depth, trusted":     {proxied(), trusted, &static.IPAllowListStrategy{Depth: 1}, proxy, client, 403, 403},
		"both protocols, one":   {proxied("use-proxy-protocol", "true"), trusted, nil, proxy, client, 503, 503},
		"by connection, wanted": {proxied(), nil, &static.IPAllowListStrategy{}, proxy, client, 200, 200},
	} {
		t.Run(name, func(t *testing.T) {
			ranges, err := forwarded.ParseRanges(test.trusted...)
			if err != nil {
				t.Fatal(err)
			}
			for annotation, want := range map[string]int{
				"denylist-source-range": test.denied, "allowlist-source-range": test.allowed,
			} {
				value := map[string]string{"denylist-source-range": client, "allowlist-source-range": "10.0.0.0/8"}[annotation]
				one := protection{annotations: map[string]string{annotation: value}, settings: test.settings}
				p := one.provider(t, nil, false)
				p.config.IPAllowListStrategy = test.strategy
				p.entryPoints = map[string]*static.EntryPoint{
					"web":     {Address: ":80", ForwardedHeaders: static.ForwardedHeaders{TrustedIPs: ranges}},
					"traefik": {Address: ":8080"},
				}
				active := serve(t, translated(t, p))
				header := http.Header{}
				if test.chain != "" {
					header["X-Forwarded-For"] = []string{test.chain}
				}
				// What the entrypoint does before a router is chosen.
				policy := forwarded.Policy{Trusted: forwarded.TrustOf(ranges)}
				r := &http.Request{Host: "a.example.com", Header: header}
				peer, _ := forwarded.ClientAddr(test.peer)
				policy.Apply(r, peer)
				e := exchange{host: r.Host, path: "/protected/x", client: test.peer, header: header, want: want}
				if got := active.status(t, http.MethodGet, &e); got != want {
					t.Errorf("%s: %d, want %d", annotation, got, want)
				}
			}
		})
	}
}

// proxied returns keys of a ConfigMap with use-forwarded-headers.
func proxied(pairs ...string) map[string]string {
	keys := map[string]string{"use-forwarded-headers": "true"}
	for i := 0; i < len(pairs); i += 2 {
		keys[pairs[i]] = pairs[i+1]
	}
	return keys
}
