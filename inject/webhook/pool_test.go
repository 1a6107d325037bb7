package webhook_test

import (
	"crypto/x509"

	"github.com/sluiceproxy/sluice/inject/authority"
)

// poolOf trusts one authority.
func poolOf(one authority.Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(one.Certificate)
	return pool
}
