package protocol

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const revoking = `
http:
  routers:
    members: {rule: "Host(` + "`members.test`" + `)", service: one, middlewares: [cert], tls: {options: members}}
    open: {rule: "Host(` + "`open.test`" + `)", service: one}
  middlewares: {cert: {passTLSClientCert: {pem: true}}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
  options:
    members: {clientAuth: {caFiles: ["${CA}"], crlFiles: ["${CRL}"]}}
`

// TestRevocation changes the CRL in its file: a revoked client gets no further answer on its open connection, and no
// new one, not even with its session. Other clients keep their connections.
func TestRevocation(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	own, member, other := authority.Issue("members.test", "open.test"), authority.Issue("member"), authority.Issue("other")
	file := filepath.Join(t.TempDir(), "members.crl")
	write := func(list []byte) {
		t.Helper()
		if err := os.WriteFile(file+".new", list, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(100 * time.Hour)
	write(authority.Revoke(end))
	f := fortress{harness.Start(t, harness.Setup{
		Static: secure + "metrics: {prometheus: {}}\n", Dynamic: map[string]string{"all.yaml": revoking},
		Vars: map[string]string{
			"BACKEND": harness.StartBackend(t, "one", nil).H1, "CA": authority.File, "CRL": file, "CERT": own.CertFile,
			"KEY": own.KeyFile,
		},
	}), nil, authority}
	clients := map[harness.Protocol][2]*harness.Client{}
	for _, protocol := range secureProtocols() {
		pair := [2]*harness.Client{
			f.client(t, protocol, "members.test", "members.test", member.Pair),
			f.client(t, protocol, "members.test", "members.test", other.Pair),
		}
		for _, client := range pair {
			if got := client.Get("/"); got.StatusCode != http.StatusOK {
				t.Fatalf("%s: status %d before the revocation", protocol, got.StatusCode)
			}
		}
		clients[protocol] = pair
	}

	f.Apply(func() { write(authority.Revoke(end, member)) })
	for protocol, pair := range clients {
		if got, reused := traced(t, pair[0], "/"); got.StatusCode != http.StatusMisdirectedRequest || !reused {
			t.Errorf("%s: a revoked client on its open connection: status %d, reused %t", protocol, got.StatusCode, reused)
		}
		if got, err := pair[0].Try(pair[0].Request(http.MethodGet, "/", nil)); err == nil {
			t.Errorf("%s: a revoked client on a new connection: status %d", protocol, got.StatusCode)
		}
		if got, reused := traced(t, pair[1], "/"); got.StatusCode != http.StatusOK || !reused {
			t.Errorf("%s: another client: status %d, reused %t", protocol, got.StatusCode, reused)
		}
	}
	page := f.Management().Get("/metrics").Text
	for _, want := range []string{
		`sluice_tls_handshake_errors_total{entrypoint="websecure",reason="client_certificate"}`,
		`sluice_tls_crl_next_update{issuer="CN=authority",options="members@file"}`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no metric %s", want)
		}
	}

	// What cannot be read changes nothing, and is reported.
	write(bytes.Repeat([]byte("x"), 100))
	f.Until("a verdict names the file", func(r harness.Readiness) bool {
		return len(r.Verdicts) == 1 && strings.Contains(r.Verdicts[0].Reason, "clientAuth.crlFiles[0]: "+file)
	})
	if got, err := f.client(t, harness.H1TLS, "members.test", "members.test", member.Pair).Try(
		clients[harness.H1TLS][0].Request(http.MethodGet, "/", nil)); err == nil {
		t.Errorf("a revoked client after a damaged file: status %d", got.StatusCode)
	}
	if got := f.client(t, harness.H1TLS, "open.test", "open.test").Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("another host: status %d", got.StatusCode)
	}

	f.Apply(func() { write(authority.Revoke(time.Now().Add(-time.Minute))) })
	if got, err := f.client(t, harness.H1TLS, "members.test", "members.test", other.Pair).Try(
		clients[harness.H1TLS][1].Request(http.MethodGet, "/", nil)); err == nil {
		t.Errorf("a client after the end of the CRL: status %d", got.StatusCode)
	}
	f.Until("a verdict names the end", func(r harness.Readiness) bool {
		return len(r.Verdicts) == 1 && strings.Contains(r.Verdicts[0].Reason, `the CRL of "CN=authority" has expired on`)
	})
}

// TestRevocationFailsClosed starts with a CRL that cannot be read: its hosts are closed, others are served.
func TestRevocationFailsClosed(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	own, member := authority.Issue("members.test", "open.test"), authority.Issue("member")
	f := fortress{harness.Start(t, harness.Setup{
		Static: secure, Dynamic: map[string]string{"all.yaml": revoking},
		Vars: map[string]string{
			"BACKEND": harness.StartBackend(t, "one", nil).H1, "CA": authority.File, "CRL": "/nowhere/members.crl",
			"CERT": own.CertFile, "KEY": own.KeyFile,
		},
	}), nil, authority}
	for _, pairs := range [][]tls.Certificate{nil, {member.Pair}} {
		client := f.client(t, harness.H1TLS, "members.test", "members.test", pairs...)
		got, err := client.Try(client.Request(http.MethodGet, "/", nil))
		if err == nil && got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("status %d", got.StatusCode)
		}
	}
	if got := f.client(t, harness.H1TLS, "open.test", "open.test").Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("another host: status %d", got.StatusCode)
	}
}
