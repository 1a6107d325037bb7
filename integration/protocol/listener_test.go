package protocol

import (
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// listeners has two entrypoints for one host: inner has a certificate and a least version of its own.
const listeners = `
http:
  routers:
    a: {rule: "Host(` + "`a.test`" + `)", service: one}
    inner: {rule: "Host(` + "`inner.test`" + `)", service: one}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
tls:
  certificates:
    - {certFile: "${CERT_OUTER}", keyFile: "${KEY_OUTER}"}
    - {certFile: "${CERT_INNER}", keyFile: "${KEY_INNER}", entryPoints: [inner]}
  options:
    modern: {minVersion: VersionTLS13, entryPoints: [inner]}
`

// TestListenersWithTLSOfTheirOwn requests one host on two entrypoints: each presents its own certificate, and each has
// its own least version. A reload moves both.
func TestListenersWithTLSOfTheirOwn(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	backend := harness.StartBackend(t, "one", nil)
	outer, inner := authority.Issue("outer", "a.test"), authority.Issue("inner", "a.test", "inner.test")
	vars := map[string]string{
		"BACKEND": backend.H1, "CERT_OUTER": outer.CertFile, "KEY_OUTER": outer.KeyFile,
		"CERT_INNER": inner.CertFile, "KEY_INNER": inner.KeyFile,
	}
	s := harness.Start(t, harness.Setup{
		Static: `
entryPoints:
  outer: {address: "127.0.0.1:0", asDefault: true, http: {tls: {}}}
  inner: {address: "127.0.0.1:0", asDefault: true, http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`, Dynamic: map[string]string{"all.yaml": listeners}, Vars: vars,
	})
	// get returns the common name of the certificate, or "" when there is no answer.
	get := func(protocol harness.Protocol, entryPoint, host string, maxVersion uint16) string {
		client := harness.NewClient(t, protocol, s.Addr(entryPoint), host, &tls.Config{
			RootCAs: authority.Pool, ServerName: host, MaxVersion: maxVersion,
		})
		got, err := client.Try(client.Request(http.MethodGet, "/", nil))
		if err != nil {
			return ""
		}
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s on %s by %s: status %d", host, entryPoint, protocol, got.StatusCode)
		}
		return got.TLS.PeerCertificates[0].Subject.CommonName
	}
	for _, test := range []struct {
		entryPoint, host string
		maxVersion       uint16
		want             string
	}{
		{"outer", "a.test", tls.VersionTLS12, "outer"},
		{"outer", "a.test", tls.VersionTLS13, "outer"},
		{"inner", "a.test", tls.VersionTLS13, "inner"},
		{"inner", "a.test", tls.VersionTLS12, ""},
		{"inner", "inner.test", tls.VersionTLS13, "inner"},
		{"outer", "inner.test", tls.VersionTLS13, ""}, // The certificate there is one that no client trusts.
	} {
		for _, protocol := range secureProtocols() {
			if got := get(protocol, test.entryPoint, test.host, test.maxVersion); got != test.want {
				t.Errorf("%s on %s by %s, up to %x: certificate %q, want %q",
					test.host, test.entryPoint, protocol, test.maxVersion, got, test.want)
			}
		}
	}
	s.Write("all.yaml", `
http:
  routers: {a: {rule: "Host(`+"`a.test`"+`)", service: one}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
tls:
  certificates:
    - {certFile: "${CERT_OUTER}", keyFile: "${KEY_OUTER}", entryPoints: [inner]}
    - {certFile: "${CERT_INNER}", keyFile: "${KEY_INNER}"}
  options:
    modern: {minVersion: VersionTLS13, entryPoints: [outer]}
`)
	harness.Until(t, "the certificates are exchanged", func() bool {
		return get(harness.H1TLS, "inner", "a.test", tls.VersionTLS12) == "outer"
	})
	if got := get(harness.H1TLS, "outer", "a.test", tls.VersionTLS13); got != "inner" {
		t.Errorf("after the reload, outer presents the certificate %q", got)
	}
	if got := get(harness.H1TLS, "outer", "a.test", tls.VersionTLS12); got != "" {
		t.Errorf("after the reload, outer accepts TLS 1.2, with the certificate %q", got)
	}
}
