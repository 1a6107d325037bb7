package static

import (
	"strings"
	"testing"
)

// TestXDSNeedsAuthentication wants xDS to be closed to strangers on addresses that are not loopback.
func TestXDSNeedsAuthentication(t *testing.T) {
	for _, test := range []struct{ name, options, want string }{
		{"loopback", "address: '127.0.0.1:18000'", ""},
		{"plain", "address: ':18000'", "is served on loopback addresses only"},
		{"TLS alone", "address: ':18000', tls: {certFile: c, keyFile: k}", "is served on loopback addresses only"},
		{"insecure", "address: ':18000', allowInsecure: true", ""},
		{"TLS, insecure", "address: ':18000', allowInsecure: true, tls: {certFile: c, keyFile: k}", ""},
		{"certificates", "address: ':18000', tls: {certFile: c, keyFile: k, caFiles: [a]}", ""},
		{"tokens", "address: ':18000', tls: {certFile: c, keyFile: k}, tokenReview: {}", ""},
		{"tokens without TLS", "address: ':18000', tokenReview: {}", "is served on loopback addresses only"},
		{"no audience", "tokenReview: {audience: ''}", "needs an audience"},
		{"identities", "clients: [{identity: a, namespaces: [b]}]", "needs xds.tls.caFiles or xds.tokenReview"},
		{"identities of tokens", "tokenReview: {}, clients: [{identity: a, namespaces: [b]}]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, findings := load(t, "entryPoints: {web: {address: ':1'}}\nxds: {"+test.options+"}\n", nil, nil)
			var errs []string
			for _, finding := range findings {
				if finding.Severity == Error && strings.Contains(finding.String(), "xds") {
					errs = append(errs, finding.String())
				}
			}
			if got := strings.Join(errs, "; "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
