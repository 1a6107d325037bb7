package acme

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// accountKeyType is the type of account keys, as in Traefik, whose acme.json has no others.
const accountKeyType = "RSA4096"

// newKey makes the private key of a certificate. Unknown types stand for RSA4096, as in Traefik.
func newKey(keyType string) (crypto.Signer, error) {
	switch keyType {
	case "EC256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EC384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "RSA2048":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "RSA8192":
		return rsa.GenerateKey(rand.Reader, 8192)
	}
	return rsa.GenerateKey(rand.Reader, 4096)
}

// encodeKey returns a private key as PEM, in the format of its kind (PKCS #1 or SEC 1) that acme.json of Traefik has.
func encodeKey(key crypto.Signer) (string, error) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
		return string(pem.EncodeToMemory(block)), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return "", fmt.Errorf("private key: %w", err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})), nil
	}
	return "", fmt.Errorf("private key: unknown kind %T", key)
}

// decodeKey reads a private key of any of the usual formats. The error never holds a part of the key.
func decodeKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("private key: not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("private key: neither PKCS #1, SEC 1 nor PKCS #8")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("private key: %T cannot sign", key)
	}
	return signer, nil
}

// newRequest makes the certificate signing request for names (RFC 8555, section 7.4).
func newRequest(key crypto.Signer, names, emailAddresses []string, commonName bool) ([]byte, error) {
	template := &x509.CertificateRequest{EmailAddresses: emailAddresses}
	for _, name := range names {
		if address, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
			continue
		}
		template.DNSNames = append(template.DNSNames, name)
	}
	// A common name has at most 64 characters (RFC 5280, appendix A.1).
	if len(template.DNSNames) > 0 && commonName && len(template.DNSNames[0]) <= 64 {
		template.Subject = pkix.Name{CommonName: template.DNSNames[0]}
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("certificate signing request: %w", err)
	}
	return request, nil
}
