package certificates_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// stapling is a configuration with two certificates, whose responder is found by an override.
const stapling = `
entryPoints:
  secure: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
providers: {file: {directory: "${DYNAMIC}"}}
api: {insecure: true}
ping: {}
metrics: {prometheus: {}}
ocsp:
  responderOverrides:
    "http://ocsp.example.com/": "${RESPONDER}"
`

const staplingCertificates = `
tls:
  certificates:
    - {certFile: "${DYNAMIC}/good.pem", keyFile: "${DYNAMIC}/good.key"}
    - {certFile: "${DYNAMIC}/revoked.pem", keyFile: "${DYNAMIC}/revoked.key"}
`

// revokedSerial is the serial number of the certificate that the responder revokes.
const revokedSerial = 0xbad

// ocspAuthority issues certificates and answers for them.
type ocspAuthority struct {
	t     *testing.T
	key   crypto.Signer
	cert  *x509.Certificate
	asked atomic.Int32
}

func newOCSPAuthority(t *testing.T) *ocspAuthority {
	t.Helper()
	a := &ocspAuthority{t: t, key: newECKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "issuer"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(template, template, a.key.Public())
	return a
}

func newECKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *ocspAuthority) sign(template, parent *x509.Certificate, public crypto.PublicKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return parsed
}

// issue returns chain and key as PEM.
func (a *ocspAuthority) issue(serial int64, name string) (chain, key string) {
	a.t.Helper()
	signer := newECKey(a.t)
	leaf := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(12 * time.Hour), OCSPServer: []string{"http://ocsp.example.com/"},
	}, a.cert, signer.Public())
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, one := range []*x509.Certificate{leaf, a.cert} {
		chain += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Raw}))
	}
	return chain, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// ServeHTTP is the responder.
func (a *ocspAuthority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request, err := ocsp.ParseRequest(body)
	if err != nil {
		a.t.Error(err)
		return
	}
	template := ocsp.Response{
		SerialNumber: request.SerialNumber, ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour),
	}
	if request.SerialNumber.Int64() == revokedSerial {
		template.Status, template.RevokedAt = ocsp.Revoked, time.Now().Add(-time.Minute)
	}
	response, err := ocsp.CreateResponse(a.cert, a.cert, template, a.key)
	if err != nil {
		a.t.Error(err)
	}
	_, _ = w.Write(response)
}

// stapled returns the response that a client gets with the certificate for a name, and that certificate.
func stapled(t *testing.T, address, name string) ([]byte, *x509.Certificate) {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	state := connection.(*tls.Conn).ConnectionState()
	return state.OCSPResponse, state.PeerCertificates[0]
}

// A good response is stapled, and stays when the configuration changes; a revoked certificate is seen.
func TestOCSPStapling(t *testing.T) {
	a := newOCSPAuthority(t)
	responder := httptest.NewServer(a)
	defer responder.Close()
	files := map[string]string{"tls.yaml": staplingCertificates}
	files["good.pem"], files["good.key"] = a.issue(0x600d, "good.example.com")
	files["revoked.pem"], files["revoked.key"] = a.issue(revokedSerial, "revoked.example.com")
	s := harness.Start(t, harness.Setup{
		Static: stapling, Dynamic: files, Vars: map[string]string{"RESPONDER": responder.URL},
	})
	address := s.Addr("secure")
	var response []byte
	var leaf *x509.Certificate
	harness.Eventually(t, time.Minute, func() bool {
		response, leaf = stapled(t, address, "good.example.com")
		return response != nil
	}, s.Log.String)
	parsed, err := ocsp.ParseResponseForCert(response, leaf, a.cert)
	if err != nil || parsed.Status != ocsp.Good {
		t.Errorf("stapled: %+v, error %v", parsed, err)
	}
	management := s.Management()
	var verdicts string
	harness.Eventually(t, time.Minute, func() bool {
		verdicts = management.Get("/api/verdicts").Text
		return strings.Contains(verdicts, "NotStapled") && strings.Contains(verdicts, "certificate revoked.example.com") &&
			strings.Contains(verdicts, "it was revoked on ")
	}, func() string { return verdicts })
	if response, _ := stapled(t, address, "revoked.example.com"); response != nil {
		t.Error("the response about a revoked certificate is stapled")
	}
	listed := management.Get("/api/certificates").Text
	for _, want := range []string{`"status":"good","stapled":true`, `"status":"revoked","stapled":false`} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(listed, " ", ""), "\n", ""), want) {
			t.Errorf("no %s in %s", want, listed)
		}
	}
	if measured := management.Get("/metrics").Text; !strings.Contains(measured,
		`sluice_ocsp_responses_total{result="good"} 1`) ||
		!strings.Contains(measured, `sluice_ocsp_certificates{state="revoked"} 1`) {
		t.Error(measured)
	}
	// Without the certificate that is revoked, the other one keeps its response.
	s.Write("tls.yaml", strings.Join(strings.Split(staplingCertificates, "\n")[:4], "\n"))
	harness.Eventually(t, time.Minute, func() bool {
		return !strings.Contains(management.Get("/api/verdicts").Text, "NotStapled")
	}, s.Log.String)
	if again, _ := stapled(t, address, "good.example.com"); string(again) != string(response) || a.asked.Load() != 2 {
		t.Errorf("after the change: %d requests", a.asked.Load())
	}
}

// An override that is empty keeps Sluice from starting, and the error names the option.
func TestEmptyOverride(t *testing.T) {
	s := harness.Start(t, harness.Setup{
		Static: strings.ReplaceAll(stapling, "${RESPONDER}", ""), NotReady: true,
	})
	if code := s.Wait(); code == 0 {
		t.Error("it starts")
	}
	const want = "option ocsp.responderOverrides.http://ocsp.example.com/: is empty"
	if !strings.Contains(s.Log.String(), want) {
		t.Errorf("no %q in %s", want, s.Log)
	}
}
