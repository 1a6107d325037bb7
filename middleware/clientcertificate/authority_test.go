package clientcertificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// authority issues certificates.
type authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newAuthority returns one that another has signed, or itself.
func newAuthority(t testing.TB, by *authority, name string) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t), serial: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name),
	}
	parent, key := template, a.key
	if by != nil {
		parent, key = by.certificate, by.key
	}
	a.certificate = created(t, template, parent, &a.key.PublicKey, key)
	return a
}

func created(
	t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey,
) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// issue returns the certificate of a client.
func (a *authority) issue(name string, change func(*x509.Certificate)) *x509.Certificate {
	a.t.Helper()
	certificate, _ := a.issueWithKey(name, change)
	return certificate
}

func (a *authority) issueWithKey(name string, change func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: name, Organization: []string{"Shop"}},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	key := newKey(a.t)
	return created(a.t, template, a.certificate, &key.PublicKey, a.key), key
}

// issueNamed is issue with a name of any form.
func (a *authority) issueNamed(t testing.TB, name pkix.RDNSequence) *x509.Certificate {
	t.Helper()
	raw, err := asn1.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	return a.issue("", func(c *x509.Certificate) { c.RawSubject = raw })
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// crl returns a list of revoked certificates that is valid for a time.
func (a *authority) crl(valid time.Duration, revoked ...*x509.Certificate) string {
	a.t.Helper()
	list := &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(valid),
	}
	for _, one := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: one.SerialNumber, RevocationTime: time.Now().Add(-time.Minute),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.certificate, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

// TestHandshake presents certificates over TLS 1.2 and 1.3, and resumes sessions.
func TestHandshake(t *testing.T) {
	ca, other := newAuthority(t, nil, "CA"), newAuthority(t, nil, "Other")
	step := build(t, dynamic.ClientCertificate{CAFiles: []string{ca.pem()}, Depth: 1})
	server := httptest.NewUnstartedServer(step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Subject"] = r.Header["Ssl-Client-Subject-Dn"]
	})))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, test := range map[string]struct {
			by     *authority
			status int
		}{"none": {nil, 400}, "known": {ca, 200}, "unknown": {other, 400}} {
			transport := server.Client().Transport.(*http.Transport).Clone()
			transport.TLSClientConfig.MinVersion, transport.TLSClientConfig.MaxVersion = version, version
			transport.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			if test.by != nil {
				certificate, key := test.by.issueWithKey("client", nil)
				transport.TLSClientConfig.Certificates = []tls.Certificate{{
					Certificate: [][]byte{certificate.Raw}, PrivateKey: key,
				}}
			}
			for attempt := range 2 {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				response, err := (&http.Client{Transport: transport}).Do(request)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				subject := response.Header.Get("X-Subject")
				_ = response.Body.Close()
				if response.StatusCode != test.status || (subject == "CN=client,O=Shop") != (test.status == 200) {
					t.Errorf("%s, version %x, attempt %d: %d %q", name, version, attempt, response.StatusCode, subject)
				}
				transport.CloseIdleConnections()
			}
		}
	}
}
