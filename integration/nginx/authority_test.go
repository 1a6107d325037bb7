package nginx_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
	"github.com/sluiceproxy/sluice/integration/nginx/render"
)

// foreign is the name of clients whose certificate is of another authority.
const foreign = "foreign"

// authority issues certificates. All have one key, which ciphers with RSA need.
type authority struct {
	key         *rsa.PrivateKey
	certificate *x509.Certificate
	raw         []byte

	mutex  sync.Mutex
	issued map[string]tls.Certificate
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, issued: map[string]tls.Certificate{}}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.raw = a.sign(t, template, template)
	if a.certificate, err = x509.ParseCertificate(a.raw); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(t *testing.T, template, parent *x509.Certificate) []byte {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, a.key.Public(), crypto.Signer(a.key))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// issue returns a certificate for names, for servers and clients.
func (a *authority) issue(t *testing.T, names ...string) tls.Certificate {
	t.Helper()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	joined := strings.Join(names, ",")
	if certificate, ok := a.issued[joined]; ok {
		return certificate
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, DNSNames: names,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate := tls.Certificate{Certificate: [][]byte{a.sign(t, template, a.certificate)}, PrivateKey: a.key}
	a.issued[joined] = certificate
	return certificate
}

// text returns a certificate with its key as nginx reads it.
func (a *authority) text(t *testing.T, certificate tls.Certificate) string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", certificate.Certificate[0]) + block("PRIVATE KEY", key)
}

func block(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

// secrets returns the contents of the Secrets that a state has.
func (a *authority) secrets(t *testing.T, described []cases.Certificate) map[string]render.PEM {
	t.Helper()
	all := make(map[string]render.PEM, len(described))
	for _, c := range described {
		var content render.PEM
		if len(c.Hosts) > 0 {
			content.Certificate = a.text(t, a.issue(t, c.Hosts...))
		}
		if c.Authority {
			content.Authority = block("CERTIFICATE", a.raw)
		}
		all[c.Namespace+"/"+c.Name] = content
	}
	return all
}
