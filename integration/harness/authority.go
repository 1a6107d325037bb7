package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates for servers and clients of a test.
type Authority struct {
	// File is the path of the authority's own certificate as PEM, for rootCAs and caFiles.
	File string
	// Pool trusts this authority alone.
	Pool *x509.CertPool

	t           testing.TB
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// NewAuthority makes an authority whose files are removed when the test ends.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir(), Pool: x509.NewCertPool()}
	template := a.template("authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	a.key = a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.Pool.AddCert(a.certificate)
	a.File = a.write("authority.pem", "CERTIFICATE", der)
	return a
}

// Issued is a certificate with its key.
type Issued struct {
	// CertFile and KeyFile are the paths of both as PEM.
	CertFile, KeyFile string
	// Pair is both for crypto/tls.
	Pair tls.Certificate
}

// Issue makes a certificate for names, addresses and URIs, for servers and clients. The first name is that of its
// files, and no URI.
func (a *Authority) Issue(names ...string) Issued {
	a.t.Helper()
	return a.IssueUntil(time.Now().Add(24*time.Hour), names...)
}

// IssueUntil makes a certificate as Issue does, with another end.
func (a *Authority) IssueUntil(end time.Time, names ...string) Issued {
	a.t.Helper()
	template := a.template(names[0])
	template.NotAfter = end
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if uri, err := url.Parse(name); err == nil && uri.Scheme != "" {
			template.URIs = append(template.URIs, uri)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key := a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	issued := Issued{
		CertFile: a.write(names[0]+".pem", "CERTIFICATE", der),
		KeyFile:  a.write(names[0]+".key", "PRIVATE KEY", secret),
		Pair:     tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}
	return issued
}

// Revoke returns a CRL in DER that is valid until a time, with the certificates that it revokes.
func (a *Authority) Revoke(end time.Time, revoked ...Issued) []byte {
	a.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: end}
	for _, one := range revoked {
		leaf, err := x509.ParseCertificate(one.Pair.Certificate[0])
		if err != nil {
			a.t.Fatal(err)
		}
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: leaf.SerialNumber, RevocationTime: time.Now(),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.certificate, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *Authority) template(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *Authority) write(name, kind string, der []byte) string {
	file := filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}
