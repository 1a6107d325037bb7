package ingressnginx

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// hostile returns a cluster with an Ingress for victim.test that is given, and one for neighbour.test.
func hostile(ingress *networkingv1.Ingress) *fakeCluster {
	cluster := newCluster()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}}
	class.Spec.Controller = "k8s.io/ingress-nginx"
	cluster.classes.put(class)
	for _, name := range []string{"web", "safe"} {
		cluster.services.put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		})
	}
	cluster.secrets.put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "users"},
		Data:       map[string][]byte{"auth": []byte("ann:{PLAIN}x")},
	})
	cluster.ingresses.put(ingress)
	neighbour := placed{"neighbour", "neighbour.test", "/", "safe", nil}
	cluster.ingresses.put(neighbour.object())
	return cluster
}

// inert demands that no text of a configuration but an error holds a part of a payload, and that no verdict is long.
func inert(t *testing.T, configuration *dynamic.Configuration, payload string) {
	t.Helper()
	for ref, object := range configuration.Objects() {
		text, err := json.Marshal(object)
		if err != nil {
			t.Errorf("%v: %v", ref, err)
		}
		if payload != "" && strings.Contains(string(text), payload) {
			t.Errorf("%v has a part of the payload: %.300s", ref, text)
		}
		bare(t, ref, object)
	}
	for _, verdict := range configuration.Verdicts {
		if len(verdict.Reason) > 1024 {
			t.Errorf("the verdict on %v has %d bytes", verdict.Ref, len(verdict.Reason))
		}
	}
}

// bare demands that texts from which headers, addresses and file names are made have no control characters.
func bare(t *testing.T, ref dynamic.Ref, object any) {
	t.Helper()
	var texts []string
	headers := func(list []dynamic.HeaderValue) {
		for _, one := range list {
			texts = append(texts, one.Name, one.Value)
		}
	}
	switch made := object.(type) {
	case *dynamic.Middleware:
		if m := made.ResponseHeaderModifier; m != nil {
			headers(m.Set)
		}
		if m := made.ProxySetHeader; m != nil {
			headers(m.Headers)
		}
		if m := made.AuthRequest; m != nil {
			texts = append(texts, m.URL, m.SigninURL)
			headers(m.Headers)
		}
		if m := made.ClientCertificate; m != nil {
			texts = append(texts, m.ErrorPage)
		}
		if m := made.RegexRewrite; m != nil {
			texts = append(texts, m.Replacement)
		}
	case *dynamic.Service:
		if s := made.DirectResponse; s != nil {
			headers(s.Headers)
		}
		if s := made.LoadBalancer; s != nil && s.Sticky != nil {
			texts = append(texts, s.Sticky.Cookie.Name, *s.Sticky.Cookie.Path, s.Sticky.Cookie.Domain)
		}
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%v: %q has a control character", ref, text)
		}
	}
}

// TestInjections has the patterns of the CVEs of ingress-nginx: each closes the location or has no effect, and other
// hosts are served. 500 is that of an authentication service that cannot be reached.
func TestInjections(t *testing.T) {
	const lua = "content_by_lua_block { os.execute('x') }"
	for name, one := range map[string]struct {
		annotations map[string]string
		change      func(*networkingv1.Ingress)
		status      int
		// payload must be in no object.
		payload string
	}{
		"CVE-2021-25742 snippet": {
			map[string]string{"configuration-snippet": "location /x { " + lua + " }"}, nil, 503, "os.execute",
		},
		"CVE-2021-25742 file": {
			map[string]string{"server-snippet": "location /x { alias /var/run/secrets/; }"}, nil, 503, "secrets",
		},
		"CVE-2021-25745 path": {nil, func(i *networkingv1.Ingress) {
			i.Spec.Rules[0].HTTP.Paths[0].Path = "/x{alias /var/run/secrets/;}location ~* ^/y"
		}, 404, ""},
		"CVE-2021-25746 annotation": {
			map[string]string{"rewrite-target": "/x;} " + lua + " #"}, nil, 200, "os.execute",
		},
		"CVE-2021-25746 timeout": {
			map[string]string{"proxy-read-timeout": "1;" + lua}, nil, 200, "os.execute",
		},
		"CVE-2023-5043": {
			map[string]string{"configuration-snippet": "return 200 \"$ssl_client_s_dn\";}\n" + lua + "{"},
			nil, 503, "os.execute",
		},
		"CVE-2023-5044": {
			map[string]string{"permanent-redirect": "https://a.test;}location ~* \"^/x\" {" + lua + "}"}, nil, 503, "os.execute",
		},
		"CVE-2024-7646": {
			map[string]string{"auth-url": "http://a.test/\r\n" + lua}, nil, 503, "os.execute",
		},
		"CVE-2024-7646 carriage return": {
			map[string]string{"session-cookie-name": "x\r" + lua, "affinity": "cookie"}, nil, 200, "os.execute",
		},
		"CVE-2025-1097": {
			map[string]string{
				"auth-tls-secret": "shop/users", "auth-tls-match-cn": "CN=a #(\n){}\n }}\nssl_engine ../../proc/1/fd/3;\n#",
			}, nil, 503, "ssl_engine",
		},
		"CVE-2025-1098 target": {
			map[string]string{"mirror-target": "http://a.test/#;}\nssl_engine ../../proc/1/fd/3;"}, nil, 200, "ssl_engine",
		},
		"CVE-2025-1098 host": {
			map[string]string{"mirror-target": "http://a.test/", "mirror-host": "a\n;}ssl_engine x;"}, nil, 200, "ssl_engine",
		},
		"CVE-2025-1098 uid": {
			map[string]string{"mirror-target": "http://a.test"}, func(i *networkingv1.Ingress) {
				i.UID = "x#;\n\n}\n}\n}\nssl_engine ../../proc/1/fd/3;$request_uri"
			}, 200, ";\n",
		},
		"CVE-2025-1974": {
			map[string]string{"ssl-ciphers": "ALL;\nssl_engine /proc/1/fd/3;"}, nil, 503, "ssl_engine",
		},
		"CVE-2025-24513": {
			map[string]string{"auth-type": "basic", "auth-secret": "../../etc/passwd"}, nil, 503, "etc/passwd",
		},
		"CVE-2025-24513 name": {
			map[string]string{"proxy-ssl-secret": "shop/../../x", "proxy-ssl-verify": "on"}, nil, 503, "../",
		},
		"CVE-2025-24514": {
			map[string]string{"auth-url": "http://a.test/#;}\nssl_engine ../../proc/1/fd/3;\n#"}, nil, 503, "ssl_engine",
		},
		"CVE-2025-24514 signin": {
			map[string]string{"auth-url": "http://127.0.0.1:1/", "auth-signin": "http://a.test/#;}\nssl_engine x;"},
			nil, 500,
			"ssl_engine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			victim := placed{"victim", "victim.test", "/", "web", one.annotations}
			ingress := victim.object()
			if one.change != nil {
				one.change(ingress)
			}
			configuration := translated(t, hostile(ingress).provider(defaultConfig()))
			inert(t, configuration, one.payload)
			served, _ := activate(configuration, named)
			for host, want := range map[string]int{"victim.test": one.status, "neighbour.test": 200} {
				if got := served.status(t, http.MethodGet, &exchange{host: host}); got != want {
					t.Errorf("%s: %d, want %d; %v", host, got, want, configuration.Verdicts)
				}
			}
		})
	}
}

// FuzzTranslate gives two annotations of an Ingress, its path and its UID any value.
func FuzzTranslate(f *testing.F) {
	all := annotation.All()
	number := map[string]int{}
	for i := range all {
		number[all[i].Name] = i
	}
	for _, seed := range [][4]string{
		{"rewrite-target", "/$1", "use-regex", "true"},
		{"affinity", "cookie", "session-cookie-path", "/;\r\nx"},
		{"permanent-redirect", "http://a.test/\r\nX: y", "permanent-redirect-code", "999"},
		{"canary", "true", "canary-by-header-pattern", "(a*)*b"},
		{"custom-http-errors", "404,,5xx", "default-backend", "web"},
		{"auth-url", "http://a.test/$request_uri\r\n", "auth-signin", "/x y"},
		{"upstream-hash-by", "$http_a${arg_b}$", "upstream-hash-by-subset", "true"},
		{"mirror-target", "http://$host:$server_port/", "mirror-host", "a b"},
		{"proxy-redirect-from", "~(?<a>x{1000}){1000}", "proxy-redirect-to", "$a\n"},
		{"proxy-cookie-path", "~^/(.+)$ /$1; HttpOnly", "proxy-cookie-domain", "a \r\nb"},
		{"server-alias", "~^(a*)*$,b c,*.x", "from-to-www-redirect", "true"},
		{"limit-rps", "99999999999999999999", "limit-burst-multiplier", "-1"},
		{"auth-type", "basic", "auth-secret", "users"},
		{"x-forwarded-prefix", "/$1\x00", "rewrite-target", "/\x7f"},
		{"configuration-snippet", strings.Repeat("{", 1000), "server-snippet", "\\"},
	} {
		f.Add(number[seed[0]], seed[1], number[seed[2]], seed[3], "/a(b|c)*", "uid\n$x")
	}
	f.Fuzz(func(t *testing.T, first int, one string, second int, other, path, uid string) {
		annotations := map[string]string{}
		for _, given := range []struct {
			index int
			value string
		}{{first, one}, {second, other}} {
			annotations[all[(given.index%len(all)+len(all))%len(all)].Name] = given.value
		}
		victim := placed{"victim", "victim.test", path, "web", annotations}
		ingress := victim.object()
		ingress.UID = types.UID(uid)
		configuration := translated(t, hostile(ingress).provider(defaultConfig()))
		inert(t, configuration, "")
		const mostObjects = 200
		objects := 0
		for range configuration.Objects() {
			objects++
		}
		if objects > mostObjects {
			t.Errorf("%d objects", objects)
		}
		served, _ := activate(configuration, named)
		if got := served.status(t, http.MethodGet, &exchange{host: "neighbour.test"}); got != http.StatusOK {
			t.Errorf("neighbour.test: %d, %s", got, fmt.Sprint(annotations))
		}
	})
}

// TestLongExpression demands that the place of a path is kept that cannot be compiled, however long it is.
func TestLongExpression(t *testing.T) {
	for _, path := range []string{
		"/secret/" + strings.Repeat("a", 4085), "/secret/" + strings.Repeat("a", 100_000),
		"/secret/" + strings.Repeat("é", 4000),
		"/secret/" + strings.Repeat("a", mostLiteral-len("/secret/")) + "*" + strings.Repeat("b", 100), "/secret/(?!x)",
	} {
		victim := placed{"victim", "victim.test", path, "web", map[string]string{"use-regex": "true"}}
		cluster := hostile(victim.object())
		other := placed{"other", "victim.test", "/", "web", nil}
		cluster.ingresses.put(other.object())
		served, _ := activate(translated(t, cluster.provider(defaultConfig())), named)
		asked := strings.ReplaceAll(path, "*", "")
		for path, want := range map[string]int{asked: http.StatusServiceUnavailable, "/public": http.StatusOK} {
			e := exchange{host: "victim.test", path: strings.ReplaceAll(path, "(?!x)", "")}
			if got := served.status(t, http.MethodGet, &e); got != want {
				t.Errorf("%.20s of %d bytes: %d, want %d", path, len(path), got, want)
			}
		}
	}
}

// TestNamesOfWildcards demands that the objects of a wildcard host and of a host have different names.
func TestNamesOfWildcards(t *testing.T) {
	if one, other := hostName("*.a.com"), hostName("wildcard.a.com"); one == other {
		t.Error(one)
	}
}
