// Package clientcertificate implements the middleware clientCertificate, which judges the certificate that a client has
// presented, as ssl_verify_client of nginx: a request gets its answer over HTTP, where the handshake would fail
// otherwise.
//
// The TLS options of the router request certificates and verify none. What is found out goes to the service in headers,
// which are never taken from the client.
package clientcertificate

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

// The headers to the service, in net/http's canonical spelling.
const (
	headerVerify  = "Ssl-Client-Verify"
	headerSubject = "Ssl-Client-Subject-Dn"
	headerIssuer  = "Ssl-Client-Issuer-Dn"
	headerCert    = "Ssl-Client-Cert"
)

// ClientCertificate is one configured clientCertificate.
type ClientCertificate struct {
	name     string
	settings *settings
	verdicts *cache
	headers  []string
	counts   counts
}

// counts are what has become of requests since the object was made.
type counts struct{ passed, refused atomic.Uint64 }

// Options are what a clientCertificate needs beside its definition.
type Options struct {
	// ReadFile reads the files of caFiles and crlFiles.
	ReadFile func(path string) ([]byte, error)
}

// New checks the definition and reads the authorities, of which there must be at least one unless the mode is off. The
// error names the option.
func New(name string, config dynamic.ClientCertificate, options Options) (*ClientCertificate, error) {
	checked, err := newSettings(&config, options.ReadFile)
	if err != nil {
		return nil, err
	}
	return &ClientCertificate{
		name: name, settings: checked, verdicts: newCache(),
		headers: []string{headerVerify, headerSubject, headerIssuer, headerCert},
	}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*ClientCertificate) NoRetain() {}

// Guards reports that access is restricted at all trust levels if every client needs a certificate.
func (c *ClientCertificate) Guards() guard.Access {
	if c.settings.mode == on {
		return guard.Access{Guards: guard.Always}
	}
	return guard.Except(guard.Always, "clientCertificate "+c.name+" lets clients without a certificate pass")
}

// Counts returns how many requests there were since the object was made: "passed" went on, and "refused" did not.
func (c *ClientCertificate) Counts() map[string]uint64 {
	return map[string]uint64{"passed": c.counts.passed.Load(), "refused": c.counts.refused.Load()}
}

// Replaces returns the names of the headers that are never taken from the client.
func (c *ClientCertificate) Replaces() []string { return c.headers }

// Wrap returns a handler that answers 400, or 302 where errorPage is set, if the certificate is missing or invalid, and
// 403 if its subject does not match. Other requests go on to next.
func (c *ClientCertificate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forwarded.RemoveHeader(r.Header, c.headers...)
		forwarded.RemoveTrailers(r, c.headers...)
		judged := c.judge(r.TLS)
		switch {
		case judged.refusal != "":
			c.counts.refused.Add(1)
			c.refuse(w, r, judged.refusal)
		case c.settings.subject != nil && !c.settings.subject.Match(judged.subject):
			c.counts.refused.Add(1)
			answer.Refuse(w, r, http.StatusForbidden, c.name, "the subject of the client certificate does not match matchCN")
		case judged.tooLong:
			c.counts.refused.Add(1)
			answer.Refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, c.name,
				"the certificate of the client is too long for a header")
		default:
			c.counts.passed.Add(1)
			c.setHeaders(r.Header, judged)
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers a request without a valid certificate.
func (c *ClientCertificate) refuse(w http.ResponseWriter, r *http.Request, reason string) {
	if !c.settings.redirects {
		answer.Refuse(w, r, http.StatusBadRequest, c.name, reason)
		return
	}
	answer.Note(r, c.name, reason)
	location := c.settings.errorPage.Append(nil,
		&variable.Live{Request: r, Client: telemetry.RecordFrom(r.Context()).Client})
	w.Header()["Location"] = []string{string(location)}
	w.WriteHeader(http.StatusFound)
}

// setHeaders sets the headers of the verdict. Empty values are not sent.
func (c *ClientCertificate) setHeaders(header http.Header, judged *verdict) {
	values := make([]string, 0, len(c.headers))
	set := func(name, value string) {
		if value != "" {
			values = append(values, value)
			header[name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	set(headerVerify, judged.verified)
	set(headerSubject, judged.subject)
	set(headerIssuer, judged.issuer)
	set(headerCert, judged.escaped)
}

// verdict is what is known of a certificate. It may be kept and shared, and is not changed.
type verdict struct {
	// refusal is why the request is refused, of which nothing else is known then; empty when it is not.
	refusal string
	// verified is SUCCESS, NONE, or FAILED and the reason; empty without TLS.
	verified string
	// subject and issuer are the names in the certificate.
	subject, issuer string
	// escaped is the PEM of the certificate if it is passed on, tooLong is set if that has no room in a header.
	escaped string
	tooLong bool
}

// size is the memory of a verdict that is kept in bytes, roughly.
func (v *verdict) size() int {
	const base = 256
	return base + len(v.refusal) + len(v.verified) + len(v.subject) + len(v.issuer) + len(v.escaped)
}

// judge returns what is known of the certificate of a connection.
func (c *ClientCertificate) judge(state *tls.ConnectionState) *verdict {
	if c.settings.mode == off || state == nil || len(state.PeerCertificates) == 0 {
		none := new(verdict)
		if state != nil {
			none.verified = "NONE"
		}
		if c.settings.mode == on {
			none.refusal = "the client has presented no certificate"
		}
		return none
	}
	of := keyOf(state.PeerCertificates)
	if known := c.verdicts.get(of); known != nil {
		return known
	}
	judged, until := c.settings.verify(state.PeerCertificates)
	c.verdicts.put(of, judged, until)
	return judged
}

// describe returns the verdict on a certificate that is not refused.
func (s *settings) describe(certificate *x509.Certificate, verified string) *verdict {
	judged := &verdict{
		verified: verified, subject: nameText(certificate.RawSubject), issuer: nameText(certificate.RawIssuer),
	}
	if s.passes {
		judged.escaped = escapedPEM(certificate)
		judged.tooLong = judged.escaped == ""
	}
	return judged
}

// refused returns the verdict on a certificate that is not valid.
func refused(reason string) *verdict {
	return &verdict{refusal: "the certificate of the client is not valid: " + reason}
}
