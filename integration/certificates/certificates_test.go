package certificates_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// static is a configuration with a resolver, whose authority validates at the entrypoints web and secure.
const static = `
entryPoints:
  web: {address: "127.0.0.1:${HTTP}", http: {redirections: {entryPoint: {to: secure}}}}
  secure: {address: "127.0.0.1:${TLS}"}
  traefik: {address: "127.0.0.1:0"}
providers: {file: {directory: "${DYNAMIC}"}}
api: {insecure: true}
ping: {}
log: {level: DEBUG}
certificatesResolvers:
  le:
    acme:
      email: operator@example.com
      caServer: ${CA}/dir
      caCertificates: ["${DIR}/ca.pem"]
      storage: ${STORAGE}
      keyType: EC256
      ${CHALLENGE}
`

const dynamic = `
http:
  routers:
    shop:
      rule: Host(` + "`shop.example.com`" + `) || Host(` + "`www.shop.example.com`" + `)
      entryPoints: [secure]
      service: shop
      tls: {certResolver: le}
  services:
    shop: {loadBalancer: {servers: [{url: "${BACKEND}"}]}}
`

// fixture is a Sluice with its authority.
type fixture struct {
	t         *testing.T
	authority *acmetest.Authority
	setup     harness.Setup
	// tls is the address of the entrypoint secure, and root the file with the certificate of the authority's server.
	tls, root string
}

// port returns a port of 127.0.0.1 on which nothing listens.
func port(t *testing.T) int {
	t.Helper()
	return int(netip.MustParseAddrPort(harness.FreeAddress(t)).Port())
}

func newFixture(t *testing.T, storage, challenge string) *fixture {
	t.Helper()
	httpPort, tlsPort := port(t), port(t)
	authority := acmetest.New(t, acmetest.Options{HTTPPort: httpPort, TLSPort: tlsPort, RejectedNonces: 5})
	folder := t.TempDir()
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw})
	rootFile := filepath.Join(folder, "ca.pem")
	if err := os.WriteFile(rootFile, root, 0o600); err != nil {
		t.Fatal(err)
	}
	backend := harness.StartBackend(t, "shop", nil)
	if storage == "" {
		storage = filepath.Join(folder, "acme.json")
	}
	return &fixture{
		t: t, authority: authority, tls: fmt.Sprintf("127.0.0.1:%d", tlsPort), root: rootFile, setup: harness.Setup{
			Static:  strings.ReplaceAll(static, "${DIR}/ca.pem", rootFile),
			Dynamic: map[string]string{"shop.yaml": dynamic},
			Vars: map[string]string{
				"HTTP": fmt.Sprint(httpPort), "TLS": fmt.Sprint(tlsPort), "CA": authority.URL, "STORAGE": storage,
				"CHALLENGE": challenge, "BACKEND": "http://" + backend.H1,
			},
		},
	}
}

// leaf returns the certificate that a client gets for a name.
func (f *fixture) leaf(name string) *x509.Certificate {
	f.t.Helper()
	return leafAt(f.t, f.tls, name)
}

// leafAt returns the certificate that a client gets for a name at an address, or nil.
func leafAt(t *testing.T, address, name string) *x509.Certificate {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// await waits until clients get a certificate of the authority for a name.
func (f *fixture) await(s *harness.Sluice, name string) *x509.Certificate {
	f.t.Helper()
	var leaf *x509.Certificate
	harness.Eventually(f.t, time.Minute, func() bool {
		leaf = f.leaf(name)
		return leaf != nil && strings.Contains(leaf.Issuer.CommonName, "Pebble")
	}, func() string { return s.Log.String() })
	return leaf
}

const (
	byHTTP = "httpChallenge: {entryPoint: web}"
	byTLS  = "tlsChallenge: {}"
)

func TestCertificatesAreObtainedAndKept(t *testing.T) {
	for name, challenge := range map[string]string{"HTTP-01": byHTTP, "TLS-ALPN-01": byTLS} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "", challenge)
			s := harness.Start(t, f.setup)
			first := f.await(s, "shop.example.com")
			if err := first.VerifyHostname("www.shop.example.com"); err != nil {
				t.Error(err)
			}
			s.Stop()
			info, err := os.Stat(f.setup.Vars["STORAGE"])
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, error %v", info, err)
			}
			again := harness.Start(t, f.setup)
			if second := f.leaf("shop.example.com"); second == nil || second.SerialNumber.Cmp(first.SerialNumber) != 0 {
				t.Errorf("the first handshake after a restart presents another certificate\n%s", again.Log)
			}
			if orders := f.authority.Orders(); len(orders) != 1 {
				t.Errorf("orders %q", orders)
			}
		})
	}
}

// A router that waits has a verdict with the reason; what others have is served.
func TestFailureIsSeen(t *testing.T) {
	f := newFixture(t, "", byHTTP)
	if err := f.authority.Database.AddBlockedDomain("shop.example.com"); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, f.setup)
	harness.Eventually(t, time.Minute, func() bool {
		return strings.Contains(s.Log.String(), "no certificate was issued")
	}, s.Log.String)
	management := s.Management()
	var body string
	harness.Eventually(t, time.Minute, func() bool {
		body = management.Get("/api/http/routers?search=shop").Text
		return strings.Contains(body, "rejectedIdentifier") && strings.Contains(body, "next attempt at")
	}, func() string { return body })
}

// A damaged file stops its resolver with a verdict. It is left as it is, and nothing is ordered.
func TestDamagedFileStopsTheResolver(t *testing.T) {
	f := newFixture(t, "", byHTTP)
	damaged := []byte(`{"le": {"Account": {"Email": "a`)
	if err := os.WriteFile(f.setup.Vars["STORAGE"], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, f.setup)
	harness.Eventually(t, time.Minute, func() bool {
		return strings.Contains(s.Log.String(), "there is no certificate for shop.example.com") &&
			strings.Contains(s.Log.String(), "not JSON")
	}, s.Log.String)
	if after, err := os.ReadFile(f.setup.Vars["STORAGE"]); err != nil || string(after) != string(damaged) {
		t.Errorf("the file is %q, error %v", after, err)
	}
	if n := f.authority.Requests("/order-plz"); n != 0 {
		t.Errorf("%d orders", n)
	}
}
