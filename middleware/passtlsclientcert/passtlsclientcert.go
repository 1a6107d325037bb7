// Package passtlsclientcert implements the middleware passTLSClientCert, which passes the client's certificate to the
// service in X-Forwarded-Tls-Client-Cert (the certificates) and X-Forwarded-Tls-Client-Cert-Info (selected fields).
// Headers with these names, in any spelling, are removed from requests. Certificates are verified by the router's TLS
// options, not here.
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

// maxValue is the maximum length of a header value in bytes. Servers refuse longer ones, and unverified client
// certificates may have any size.
const maxValue = 64 << 10

// PassTLSClientCert is one configured passTLSClientCert. It is safe for concurrent use.
type PassTLSClientCert struct {
	name string
	// headers are both names, which are removed first.
	headers  []string
	pem      bool
	fields   *fields
	warnings []string
	refused  atomic.Uint64
}

// New returns the middleware. A definition with neither pem nor info has a warning.
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

// NoRetain implements httpio.NoRetainer.
func (*PassTLSClientCert) NoRetain() {}

// Warnings returns options without the apparent effect.
func (p *PassTLSClientCert) Warnings() []string { return p.warnings }

// Counts returns the number of requests refused over all routers because of too long certificates.
func (p *PassTLSClientCert) Counts() map[string]uint64 {
	return map[string]uint64{"refused": p.refused.Load()}
}

// Wrap returns a handler that passes the certificates to next, and refuses those that are too long for a header.
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

// setHeaders sets the headers. ok is false if one would be too long.
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

// presented returns the client's certificates, its own first. If they were verified, unverified additional ones are
// left out.
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

// pemText returns certificates in PEM without delimiters and line breaks, separated by commas.
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
