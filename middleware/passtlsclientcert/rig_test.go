package passtlsclientcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

const (
	certHeader = "X-Forwarded-Tls-Client-Cert"
	infoHeader = "X-Forwarded-Tls-Client-Cert-Info"
)

// named is a name with these attributes in this order, such as "C=FR".
func named(attributes ...string) (name pkix.Name) {
	kinds := map[string]asn1.ObjectIdentifier{
		"DC": {0, 9, 2342, 19200300, 100, 1, 25}, "CN": {2, 5, 4, 3}, "SN": {2, 5, 4, 5}, "C": {2, 5, 4, 6},
		"L": {2, 5, 4, 7}, "ST": {2, 5, 4, 8},
		"O": {2, 5, 4, 10}, "OU": {2, 5, 4, 11},
	}
	for _, attribute := range attributes {
		kind, value, _ := strings.Cut(attribute, "=")
		name.ExtraNames = append(name.ExtraNames, pkix.AttributeTypeAndValue{Type: kinds[kind], Value: value})
	}
	return name
}

// issuer is an authority.
type issuer struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newIssuer makes an authority, by another or by itself.
func newIssuer(t testing.TB, by *issuer, name pkix.Name) *issuer {
	t.Helper()
	made := &issuer{key: newKey(t)}
	template := &x509.Certificate{
		Subject: name, SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	if by == nil {
		by = &issuer{key: made.key, certificate: template}
	}
	made.certificate = sign(t, by, template, made.key)
	return made
}

// issue signs a certificate.
func (i *issuer) issue(t testing.TB, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	return sign(t, i, template, newKey(t))
}

func sign(t testing.TB, by *issuer, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if template.SerialNumber == nil {
		template.SerialNumber = big.NewInt(42)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// authority has every attribute that an issuer can have.
func authority(t testing.TB) *issuer {
	t.Helper()
	return newIssuer(t, nil, named(
		"CN=Simple Signing CA 2", "C=FR", "C=US", "DC=org", "DC=cheese", "ST=Signing State", "ST=Signing State 2",
		"L=TOULOUSE", "L=LYON",
		"O=Cheese", "O=Cheese 2", "OU=Signing Section", "SN=9",
	))
}

// complete is a template with every field.
func complete() *x509.Certificate {
	return &x509.Certificate{
		Subject: named(
			"SN=7", "C=FR", "C=US", "ST=Cheese org state", "DC=org", "ST=Cheese com state", "L=TOULOUSE", "L=LYON", "O=Cheese",
			"O=Cheese 2",
			"OU=Section", "OU=Section 2", "DC=cheese", "CN=*.example.com",
		),
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(1544094616, 0), NotAfter: time.Unix(1607166616, 0),
		DNSNames: []string{"*.example.org", "*.example.net"}, EmailAddresses: []string{
			"test@example.org",
			"test@example.net",
		},
		IPAddresses: []net.IP{net.IPv4(10, 0, 1, 0), net.ParseIP("2001:db8::1")},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: "/a b"}},
	}
}

// everything chooses all fields.
func everything() *dynamic.ClientCertificateFields {
	return &dynamic.ClientCertificateFields{
		NotAfter: true, NotBefore: true, SANs: true, SerialNumber: true,
		Subject: &dynamic.ClientCertificateSubject{
			Country: true, Province: true, Locality: true, Organization: true, OrganizationalUnit: true, CommonName: true,
			SerialNumber: true, DomainComponent: true,
		},
		Issuer: &dynamic.ClientCertificateIssuer{
			Country: true, Province: true, Locality: true, Organization: true, CommonName: true, SerialNumber: true,
			DomainComponent: true,
		},
	}
}

func build(t testing.TB, config dynamic.PassTLSClientCert) *PassTLSClientCert {
	t.Helper()
	p, err := New("cert@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pass sends a request with certificates through the middleware, and returns the header that the service gets; it is
// nil where the request was refused.
func pass(t testing.TB, p *PassTLSClientCert, state *tls.ConnectionState, lines ...string) (status int,
	passed http.Header,
) {
	t.Helper()
	r := middlewaretest.Request(t, "GET /", lines...)
	r.TLS = state
	w := httptest.NewRecorder()
	p.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { passed = r.Header })).ServeHTTP(w, r)
	return w.Code, passed
}

// of is a connection of a client that was not verified.
func of(certificates ...*x509.Certificate) *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: certificates}
}
