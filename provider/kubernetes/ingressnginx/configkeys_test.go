package ingressnginx

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// allKinds has an Ingress for each group of keys of the ConfigMap.
const allKinds = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: plain, namespace: shop}
spec:
  ingressClassName: nginx
  tls:
  - {hosts: [tls.example.com], secretName: pair}
  rules:
  - host: tls.example.com
    http: {paths: [{pathType: Prefix, path: /, backend: {service: {name: web, port: {number: 80}}}}]}
  - host: a.example.com
    http:
      paths:
      - {pathType: Prefix, path: /.well-known/acme-challenge/x, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: annotated
  namespace: shop
  annotations:
    nginx.ingress.kubernetes.io/force-ssl-redirect: "true"
    nginx.ingress.kubernetes.io/limit-rps: "5"
    nginx.ingress.kubernetes.io/limit-connections: "5"
    nginx.ingress.kubernetes.io/limit-rate: "5"
    nginx.ingress.kubernetes.io/custom-http-errors: "503"
    nginx.ingress.kubernetes.io/custom-headers: shop/extra
    nginx.ingress.kubernetes.io/auth-type: basic
    nginx.ingress.kubernetes.io/auth-secret: other/users
    nginx.ingress.kubernetes.io/server-alias: alias.example.com
    nginx.ingress.kubernetes.io/from-to-www-redirect: "true"
spec:
  ingressClassName: nginx
  rules:
  - host: b.example.com
    http: {paths: [{pathType: Prefix, path: /x, backend: {service: {name: api, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: secure
  namespace: shop
  annotations:
    nginx.ingress.kubernetes.io/backend-protocol: HTTPS
    nginx.ingress.kubernetes.io/proxy-ssl-secret: shop/pair
    nginx.ingress.kubernetes.io/proxy-ssl-verify: "on"
spec:
  ingressClassName: nginx
  rules:
  - host: c.example.com
    http: {paths: [{pathType: Prefix, path: /one, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: secured
  namespace: shop
  annotations: {nginx.ingress.kubernetes.io/backend-protocol: HTTPS}
spec:
  ingressClassName: nginx
  rules:
  - host: c.example.com
    http: {paths: [{pathType: Prefix, path: /two, backend: {service: {name: api, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec: {clusterIP: 192.0.2.7, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: users, namespace: other}
data: {auth: YmVuOiRhcHIxJHgkeA==}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: shop}
data: {X-Extra: "1"}`

// settingsFor returns keys with which another one has an effect, and the value for that one.
func settingsFor(key annotation.ConfigKey) (beside map[string]string, value string) {
	values := map[string]string{
		"http-redirect-code": "301", "proxy-body-size": "8m", "client-body-buffer-size": "2m",
		"proxy-request-buffering": "off", "proxy-next-upstream": "http_500", "proxy-redirect-from": "http://a/",
		"proxy-redirect-to": "http://b/", "proxy-cookie-domain": "a b", "proxy-cookie-path": "/a /b",
		"proxy-http-version": "1.0", "custom-http-errors": "404,503", "load-balance": "ewma",
		"limit-req-status-code": "429", "limit-conn-status-code": "429", "whitelist-source-range": "10.0.0.0/8",
		"denylist-source-range": "10.0.0.1", "block-cidrs": "192.0.2.0/24", "annotations-risk-level": "Medium",
		"proxy-set-headers": "shop/extra", "add-headers": "shop/extra", "ssl-protocols": "TLSv1.3",
		"ssl-ciphers": "ECDHE-RSA-AES128-GCM-SHA256", "global-auth-url": "http://auth.example.com/",
		"global-auth-method": "POST", "global-auth-signin": "https://auth.example.com/start",
		"global-auth-cache-duration": "200 1h", "no-tls-redirect-locations": "/x", "no-auth-locations": "/x",
		"global-allowed-response-headers": "X-Extra", "annotation-value-word-blocklist": "basic",
		"hide-headers": "X-Powered-By", "global-auth-response-headers": "X-User", "gzip-types": "text/css",
		"brotli-types": "text/css",
	}
	value = values[key.Name]
	switch {
	case value != "":
	case key.Default == "true":
		value = "false"
	case key.Default == "false":
		value = "true"
	case key.Default == "on":
		value = "off"
	case key.Default == "off":
		value = "on"
	default:
		value = "70"
	}
	switch prefix, _, _ := strings.Cut(key.Name, "-"); {
	case strings.HasPrefix(key.Name, "global-auth-signin-") || key.Name == "global-auth-request-redirect":
		beside = map[string]string{
			"global-auth-url": "http://auth.example.com/", "global-auth-signin": "https://auth.example.com/start",
		}
	case key.Name == "global-auth-cache-duration":
		beside = map[string]string{"global-auth-url": "http://auth.example.com/", "global-auth-cache-key": "$remote_user"}
	case strings.HasPrefix(key.Name, "global-auth-") && key.Name != "global-auth-url", key.Name == "no-auth-locations":
		beside = map[string]string{"global-auth-url": "http://auth.example.com/"}
	case prefix == "gzip":
		beside = map[string]string{"use-gzip": "true"}
	case prefix == "brotli":
		beside = map[string]string{"enable-brotli": "true"}
	case key.Name == "proxy-redirect-from":
		beside = map[string]string{"proxy-redirect-to": "http://b/"}
	case key.Name == "relative-redirects":
		beside = map[string]string{"proxy-redirect-from": "http://a/", "proxy-redirect-to": "http://b/"}
	case key.Name == "proxy-redirect-to":
		beside = map[string]string{"proxy-redirect-from": "http://a/"}
	case key.Name == "retry-non-idempotent":
		beside = map[string]string{"proxy-next-upstream": "http_500"}
	case key.Name == "disable-proxy-intercept-errors":
		beside = map[string]string{"custom-http-errors": "404"}
	}
	return beside, value
}

// digest returns a text that differs between configurations with other objects or verdicts.
func digest(t *testing.T, configuration *dynamic.Configuration) string {
	t.Helper()
	var lines []string
	for ref, object := range configuration.Objects() {
		sum, err := dynamic.Fingerprint(object)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(ref, sum))
	}
	for _, verdict := range configuration.Verdicts {
		lines = append(lines, verdict.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestEveryKeyHasAnEffectOrAVerdict sets each of the keys of the ConfigMap to another value than its default: the
// configuration must differ, or its verdicts, or the finding on the key must say that it changes no answer.
func TestEveryKeyHasAnEffectOrAVerdict(t *testing.T) {
	const want = 208
	keys := annotation.AllConfigKeys()
	if len(keys) != want {
		t.Errorf("there are %d keys, want %d", len(keys), want)
	}
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	cluster.apply(t, []byte(allKinds[1:]))
	config := defaultConfig()
	config.ConfigMap, config.DefaultBackendService = "shop/settings", "shop/fallback"
	p := cluster.provider(config)
	pair := generate(t, "tls.example.com")
	pair[keyOfAuthorities] = pair[corev1.TLSCertKey]
	cluster.secrets.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pair"}, Data: pair})
	known := map[string]string{}
	of := func(data map[string]string) string {
		text := fmt.Sprint(data)
		if known[text] != "" {
			return known[text]
		}
		cluster.configMaps.put(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: data,
		})
		configuration, _ := p.update()
		known[text] = digest(t, configuration)
		return known[text]
	}
	effects := 0
	for _, key := range keys {
		beside, value := settingsFor(key)
		data := map[string]string{key.Name: value}
		for other, text := range beside {
			data[other] = text
		}
		if of(beside) != of(data) {
			effects++
			continue
		}
		_, findings := annotation.ReadConfigMap("shop", data)
		at := slices.IndexFunc(findings, func(f annotation.Finding) bool { return f.Key == key.Name })
		if one := findings[at]; one.Verdict != annotation.Unused || one.Reason == "" || key.Effect < annotation.Idle {
			t.Errorf("%s: %s changes nothing, and the verdict is %s %q", key.Name, value, one.Verdict, one.Reason)
		}
	}
	t.Logf("%d of %d keys change something", effects, len(keys))
}

// TestOptionsAreDefaultsOfKeys demands that an option holds until the ConfigMap has its key, whatever its value is, and
// where ingress-nginx does not accept the ConfigMap's value.
func TestOptionsAreDefaultsOfKeys(t *testing.T) {
	config := defaultConfig()
	if settings, findings := readSettings(&config, "shop", nil); !dynamic.Equal(settings, annotation.DefaultSettings()) {
		t.Errorf("the defaults of the options are others: %+v, %+v", settings, findings)
	}
	config.ProxyBodySize, config.ProxyNextUpstreamTries, config.ProxyRequestBuffering = 0, 0, false
	config.ProxyConnectTimeout, config.CustomHTTPErrors = 7, []int{404, 503}
	config.GlobalAllowedResponseHeaders = []string{"X-A", "X-B"}
	config.GlobalAuthURL, config.AllowCrossNamespaceResources = "http://auth.example.com/", true
	for name, row := range map[string]struct {
		given map[string]string
		holds func(s *annotation.Settings) bool
	}{
		"options": {nil, func(s *annotation.Settings) bool {
			return s.Proxy.BodySize == 0 && s.Proxy.NextUpstream.Tries == 0 && !s.Proxy.RequestBuffering &&
				s.Proxy.ConnectTimeout.Seconds() == 7 && slices.Equal(s.CustomHTTPErrors, []int{404, 503}) &&
				slices.Equal(s.AllowedResponseHeaders, []string{"X-A", "X-B"}) && s.GlobalAuth != nil && s.AllowCrossNamespace
		}},
		"keys": {map[string]string{
			"proxy-body-size": "1k", "proxy-request-buffering": "on", "custom-http-errors": "", "global-auth-url": "",
			"allow-cross-namespace-resources": "false", "global-allowed-response-headers": "X-C, x y",
		}, func(s *annotation.Settings) bool {
			return s.Proxy.BodySize == 1024 && s.Proxy.RequestBuffering && s.CustomHTTPErrors == nil && s.GlobalAuth == nil &&
				!s.AllowCrossNamespace && slices.Equal(s.AllowedResponseHeaders, []string{"X-C"})
		}},
		"values that are not accepted": {map[string]string{
			"proxy-connect-timeout": "5s", "proxy-next-upstream-tries": "-1", "proxy-request-buffering": "no",
		}, func(s *annotation.Settings) bool {
			return s.Proxy.ConnectTimeout.Seconds() == 7 && s.Proxy.NextUpstream.Tries == 0 && !s.Proxy.RequestBuffering
		}},
		"a key beside an option": {map[string]string{"global-auth-method": "POST"}, func(s *annotation.Settings) bool {
			return s.GlobalAuth.Method == "POST" && s.GlobalAuth.URL == "http://auth.example.com/"
		}},
	} {
		if settings, findings := readSettings(&config, "shop", row.given); !row.holds(settings) {
			t.Errorf("%s: %+v, %+v", name, settings, findings)
		}
	}
}
