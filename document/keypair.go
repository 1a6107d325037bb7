package document

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"strings"
)

// KeyPair parses a certificate with its chain and the private key, both as PEM, and checks that they belong together.
// Encrypted keys are refused with an error that says so.
func KeyPair(certificate, key []byte) (tls.Certificate, error) {
	if encrypted(key) {
		return tls.Certificate{}, errors.New("the key is encrypted; decrypt it with " +
			"openssl pkey -in KEYFILE -out NEWFILE, and protect the new file by its permissions")
	}
	return tls.X509KeyPair(certificate, key)
}

// encrypted reports whether the first private key is encrypted: as PKCS#8 (RFC 5958, section 3) or by the headers of
// RFC 1421, section 4.6.1.1.
func encrypted(key []byte) bool {
	for block, rest := pem.Decode(key); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" {
			return true
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") || block.Headers["DEK-Info"] != ""
		}
	}
	return false
}
