package file

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// Types of PEM blocks that hold private keys.
const (
	typePKCS1 = "RSA PRIVATE KEY"
	typeSEC1  = "EC PRIVATE KEY"
	typePKCS8 = "PRIVATE KEY"
)

// keyFromDER returns the PEM text of an account's key. Traefik writes PKCS#1; PKCS#8, SEC1 and PEM are read, too.
func keyFromDER(der []byte) (string, error) {
	if block, _ := pem.Decode(der); block != nil {
		der = block.Bytes
	}
	kind := ""
	if _, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		kind = typePKCS1
	} else if _, err := x509.ParseECPrivateKey(der); err == nil {
		kind = typeSEC1
	} else if _, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		kind = typePKCS8
	}
	if kind == "" {
		return "", errors.New("is not a private key")
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})), nil
}

// keyToDER returns the key of a PEM text as acme.json has it: PKCS#1 of an RSA key, which is the only one that Traefik
// can read, SEC1 of an ECDSA key, and PKCS#8 of others.
func keyToDER(text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return x509.MarshalPKCS1PrivateKey(key), nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return x509.MarshalECPrivateKey(key)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is not a private key")
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return x509.MarshalPKCS1PrivateKey(key), nil
	case *ecdsa.PrivateKey:
		return x509.MarshalECPrivateKey(key)
	}
	return block.Bytes, nil
}
