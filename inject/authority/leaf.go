package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"
)

// NewLeaf returns a certificate for the names, which are DNS names and IP addresses, that the authority has signed. It
// ends with the authority.
func NewLeaf(signer Authority, names []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of a certificate: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "sluice-injector"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(LeafLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if end := signer.Certificate.NotAfter; template.NotAfter.After(end) {
		template.NotAfter = end
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.Certificate, key.Public(), signer.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// leafState is a leaf that is presented, with the authority that has signed it.
type leafState struct {
	certificate *tls.Certificate
	signer      Authority
}

// renewal returns when a leaf is to be renewed: at half its life.
func (l *leafState) renewal() time.Time {
	begin := l.certificate.Leaf.NotBefore.Add(backdate)
	return begin.Add(l.certificate.Leaf.NotAfter.Sub(begin) / 2)
}

// due reports whether a leaf is to be renewed at a time, which may also be before it begins: clocks are put back.
func (l *leafState) due(now time.Time) bool {
	return now.Before(l.certificate.Leaf.NotBefore) || !now.Before(l.renewal())
}
