// Package passtlsclientcert is the middleware passTLSClientCert: it hands the certificate of the client to the
// service in headers.
//
// What flows in: a request, with the certificates of its connection. What flows out: the same request with
// X-Forwarded-Tls-Client-Cert (the certificates) and X-Forwarded-Tls-Client-Cert-Info (chosen fields of them). What
// arrives under these names, in any spelling, never passes, of any client, with or without a certificate. It never
// judges a certificate: the TLS options of the router do.
package passtlsclientcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// maxValue is how long the value of a header may be, in bytes. No server takes a longer one, and clients that are
// asked for a certificate and not for one of known authorities send what they like.
const maxValue = 64 << 10

// PassTLSClientCert is one configured passTLSClientCert. It is safe for concurrent use.
type PassTLSClientCert struct {
	name string
	// headers are the names of both, which are removed first.
	headers  []string
	pem      bool
	fields   *fields
	warnings []string
	refused  atomic.Uint64
}

// New takes the definition. One that chooses neither pem nor info passes nothing on, which is a warning.
func New(name string, config dynamic.PassTLSClientCert) (*PassTLSClientCert, error) {
	p := &PassTLSClientCert{
		name: name, headers: []string{forwarded.XForwardedTLSClientCert, forwarded.XForwardedTLSClientCertInfo},
		pem: config.PEM, fields: newFields(config.Info),
	}
	switch {
	case config.Info == nil && !config.PEM:
		p.warnings = []string{"passTLSClientCert sets neither pem nor info: no certificate is passed on"}
	case config.Info != nil && p.fields.none():
		p.warnings = []string{"passTLSClientCert.info chooses no field: X-Forwarded-Tls-Client-Cert-Info says nothing"}
	}
	return p, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*PassTLSClientCert) NoRetain() {}

// Warnings returns what the definition declares without the effect that it seems to have.
func (p *PassTLSClientCert) Warnings() []string { return p.warnings }

// Counts returns how many requests have been refused over all routers, since what their client had to present is too
// long for a header.
func (p *PassTLSClientCert) Counts() map[string]uint64 {
	return map[string]uint64{"refused": p.refused.Load()}
}

// Wrap returns a handler that hands the certificates on to next, and to no service what is too long for a header.
func (p *PassTLSClientCert) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forwarded.RemoveHeader(r.Header, p.headers...)
		forwarded.RemoveTrailers(r, p.headers...)
		if certificates := presented(r.TLS); len(certificates) > 0 && !p.setHeaders(r.Header, certificates) {
			p.refused.Add(1)
			answer.Refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, p.name,
				"the certificates of the client are too long for a header")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// setHeaders sets the headers. It is not ok when one would be too long.
func (p *PassTLSClientCert) setHeaders(header http.Header, certificates []*x509.Certificate) (ok bool) {
	if p.pem {
		value, ok := pemText(certificates)
		if !ok {
			return false
		}
		header[forwarded.XForwardedTLSClientCert] = []string{value}
	}
	if p.fields != nil {
		value, ok := p.fields.text(certificates)
		if !ok {
			return false
		}
		header[forwarded.XForwardedTLSClientCertInfo] = []string{value}
	}
	return true
}

// presented returns the certificates of the client, its own first. Where they were verified, others that the client
// added, which nobody looked at, are not among them.
func presented(state *tls.ConnectionState) []*x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) < 2 {
		if state == nil {
			return nil
		}
		return state.PeerCertificates
	}
	verified := make([]*x509.Certificate, 0, len(state.PeerCertificates))
	for _, certificate := range state.PeerCertificates {
		if slices.ContainsFunc(state.VerifiedChains, func(chain []*x509.Certificate) bool {
			return slices.ContainsFunc(chain, certificate.Equal)
		}) {
			verified = append(verified, certificate)
		}
	}
	return verified
}

// pemText returns certificates in PEM without its delimiters and line breaks, with commas between them.
func pemText(certificates []*x509.Certificate) (text string, ok bool) {
	length := len(certificates) - 1
	for _, certificate := range certificates {
		length += base64.StdEncoding.EncodedLen(len(certificate.Raw))
	}
	if length > maxValue {
		return "", false
	}
	var b bytes.Buffer
	b.Grow(length)
	for i, certificate := range certificates {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_, _ = b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), certificate.Raw))
	}
	return b.String(), true
}
