package jwt

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// maxPEM is how long PEM text can be, in bytes.
const maxPEM = 1 << 16

// parsePEM reads public keys (PKIX and PKCS #1) and certificates, of which only the key counts. The error holds
// nothing of the text.
func parsePEM(text []byte) ([]key, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("is longer than %d bytes", maxPEM)
	}
	var keys []key
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return nil, errors.New("holds a private key, and a public one is wanted")
		}
		material, err := parseBlock(block)
		if err != nil {
			return nil, fmt.Errorf("can't be used: block %d: %w", len(keys), err)
		}
		algorithms, err := fits(material)
		if err != nil {
			return nil, fmt.Errorf("can't be used: block %d: %w", len(keys), err)
		}
		if len(keys) == maxTries {
			return nil, fmt.Errorf("holds more than %d keys", maxTries)
		}
		keys = append(keys, newKey("", material, algorithms))
	}
	if len(keys) == 0 {
		return nil, errors.New("holds no public key or certificate in PEM")
	}
	return keys, nil
}

func parseBlock(block *pem.Block) (any, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return certificate.PublicKey, nil
	}
	return nil, errors.New("it is neither PUBLIC KEY nor RSA PUBLIC KEY nor CERTIFICATE")
}
