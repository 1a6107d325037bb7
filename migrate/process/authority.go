package process

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
	"sync"
	"time"
)

// validity is how long certificates are valid.
const validity = 24 * time.Hour

// authority issues certificates. All have one key.
type authority struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	// rootPEM and keyPEM are the certificate of the authority, and the key.
	rootPEM, keyPEM []byte

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sluice migrate"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	root, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(root)
	if err != nil {
		return nil, err
	}
	return &authority{
		key: key, root: parsed, rootPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}),
		keyPEM: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), issued: map[string]*tls.Certificate{},
	}, nil
}

// issue returns a certificate for hosts in PEM.
func (a *authority) issue(hosts ...string) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: a.root.NotBefore, NotAfter: a.root.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	made, err := x509.CreateCertificate(rand.Reader, template, a.root, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), nil
}

// certificate returns the certificate of a server for the name of a handshake.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" {
		name = "endpoint.invalid"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.issued[name]; known != nil {
		return known, nil
	}
	chain, err := a.issue(name)
	if err != nil {
		return nil, err
	}
	made, err := tls.X509KeyPair(chain, a.keyPEM)
	if err != nil {
		return nil, err
	}
	a.issued[name] = &made
	return &made, nil
}

// revocations returns a list of revoked certificates, which is empty, in PEM.
func (a *authority) revocations() ([]byte, error) {
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: a.root.NotBefore, NextUpdate: a.root.NotAfter,
	}, a.root, a.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list}), nil
}
