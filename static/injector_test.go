package static

import (
	"strings"
	"testing"
)

// TestInjectorOptions lists combinations of options, and what is wrong with them.
func TestInjectorOptions(t *testing.T) {
	for _, test := range []struct{ name, options, want string }{
		{"a directory", "config: /etc/a", ""},
		{"a ConfigMap", "configMap: sluice/a", ""},
		{"neither", "address: ':1'", "needs config or configMap"},
		{"both", "config: a, configMap: b", "exclude each other"},
		{"a bad name", "configMap: a/b/c", "bad name"},
		{"a bad address", "config: a, address: a", "bad address"},
		{"a bad status address", "config: a, statusAddress: a", "bad address"},
		{"what is done on errors", "config: a, onError: maybe", "onError"},
		{"half a certificate", "config: a, tls: {certFile: b}", "needs certFile and keyFile"},
		{"a certificate", "config: a, tls: {certFile: b, keyFile: c}, secret: ''", ""},
		{"no Secret", "config: a, secret: ''", "name of a Secret"},
		{"no names", "config: a, service: '', webhookConfiguration: ''", "needs service or serverNames"},
		{"a URL", "config: a, service: '', serverNames: [b], webhooks: [c]", ""},
		{"no webhook", "config: a, service: '', serverNames: [b]", "needs service or webhooks"},
		{"enforced", "config: a, enforce: {namespace: b}", ""},
		{"enforced nowhere", "config: a, enforce: {}", "needs a namespace"},
		{"enforced without a registration", "config: a, webhookConfiguration: '', enforce: {namespace: b}", "needs injector."},
		{"a negative time", "config: a, drainTimeout: -1s", "negative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, findings := load(t, "entryPoints: {web: {address: ':1'}}\ninjector: {"+test.options+"}\n", nil, nil)
			if got := joined(findings, Error); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
