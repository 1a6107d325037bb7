package static

import (
	"strings"
	"testing"
)

// TestNGINXOptionsAgree proves that options of ingress-nginx that contradict one another, or name nothing, stop the
// start.
func TestNGINXOptionsAgree(t *testing.T) {
	for _, test := range []struct{ name, options, want string }{
		{"defaults", "", ""},
		{"both ways to choose namespaces", "watchNamespace: a, watchNamespaceSelector: 'b=c'", "excludes watchNamespace"},
		{"one way", "watchNamespaceSelector: 'b=c'", ""},
		{"objects", "configMap: a/b, defaultBackendService: a/c, defaultSSLCertificate: a/d", ""},
		{"no namespace", "configMap: b", "configMap"},
		{"empty namespace", "defaultSSLCertificate: /b", "expected namespace/name"},
		{"a part too many", "defaultBackendService: a/b/c", "expected namespace/name"},
		{"entrypoints", "httpEntryPoint: web, httpsEntryPoint: web", ""},
		{"unknown entrypoint", "httpsEntryPoint: wbe", "no entrypoint has the name"},
		{"statuses", "customHTTPErrors: [404, 599]", ""},
		{"no status", "customHTTPErrors: [404, 200]", "200 is no status from 300 to 599"},
		{"conditions", "proxyNextUpstream: error http_503 non_idempotent", ""},
		{"no conditions", "proxyNextUpstream: ''", "is empty"},
		{"unknown condition", "proxyNextUpstream: error never", "never"},
		{"no limits", "proxyNextUpstreamTries: 0, proxyNextUpstreamTimeout: 0, proxyBodySize: 0", ""},
		{"time", "proxyConnectTimeout: 0", "proxyConnectTimeout"},
		{"authentication", "globalAuthURL: 'https://auth.example.com/check?a=$host'", ""},
		{"no URL", "globalAuthURL: auth.example.com", "expected a URL"},
		{"address to publish", "publish: true, publishStatusAddress: [192.0.2.1]", ""},
		{"Service to publish", "publish: true, publishService: a/b", ""},
		{"nothing to publish", "publish: true", "needs either publishService or publishStatusAddress"},
		{"two things to publish", "publish: true, publishService: a/b, publishStatusAddress: [a.example]", "needs either"},
		{"prefix", "ipAllowListStrategy: {ipv6Subnet: 129}", "ipv6Subnet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ofNGINX(t, test.options, Error); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestNGINXAddressesNeedPublish demands a warning about addresses that are not written.
func TestNGINXAddressesNeedPublish(t *testing.T) {
	for options, want := range map[string]string{
		"publishService: a/b":                                       "publishService: has no effect without publish",
		"publishStatusAddress: [192.0.2.1]":                         "publishStatusAddress: has no effect without publish",
		"publish: true, publishStatusAddress: [192.0.2.1]":          "",
		"allowSnippetAnnotations: true":                             "directives of nginx are not executed",
		"allowSnippetAnnotations: false, proxyBuffering: true":      "",
		"proxyBufferSize: 8192, publish: true, publishService: a/b": "",
	} {
		if got := ofNGINX(t, options, Warning); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

// ofNGINX returns the findings of a severity about options of ingress-nginx.
func ofNGINX(t *testing.T, options string, severity Severity) string {
	t.Helper()
	_, findings := load(t, "entryPoints: {web: {address: ':8080'}}\nproviders: {kubernetesIngressNGINX: {"+options+"}}\n",
		nil, nil)
	var found []string
	for _, finding := range findings {
		if finding.Severity == severity {
			found = append(found, finding.String())
		}
	}
	return strings.Join(found, "; ")
}
