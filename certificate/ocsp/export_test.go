package ocsp

import (
	"crypto/x509"
	"time"
)

// Verify checks a response.
func Verify(response []byte, leaf, issuer *x509.Certificate, now time.Time) error {
	_, err := verify(response, leaf, issuer, now)
	return err
}
