package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Pair is a certificate with its key and the OCSP response that is stapled to it. It is safe for concurrent use, and
// handshakes read it without a lock.
type Pair struct {
	// Leaf is the certificate itself.
	Leaf *x509.Certificate
	// Fingerprint is the SHA-256 of the leaf, in hexadecimal.
	Fingerprint string

	plain  *tls.Certificate
	staple atomic.Pointer[staple]
}

// staple is a copy of a certificate with an OCSP response, which may be presented until it ends.
type staple struct {
	certificate *tls.Certificate
	until       time.Time
}

// Served is a certificate that handshakes present, and the objects of the configuration that it is from.
type Served struct {
	Pair    *Pair
	Objects []dynamic.Ref
}

// newPair takes a certificate whose Leaf is set. The certificate is not modified any more.
func newPair(parsed *tls.Certificate) *Pair {
	sum := sha256.Sum256(parsed.Leaf.Raw)
	return &Pair{Leaf: parsed.Leaf, Fingerprint: hex.EncodeToString(sum[:]), plain: parsed}
}

// Staple presents the certificate with an OCSP response (RFC 6066, section 8) in handshakes that begin before until;
// nil presents it without one. The response is not verified and must not be modified any more.
func (p *Pair) Staple(response []byte, until time.Time) {
	if response == nil {
		p.staple.Store(nil)
		return
	}
	stapled := *p.plain
	stapled.OCSPStaple = response
	p.staple.Store(&staple{certificate: &stapled, until: until})
}

// present returns what a handshake presents. It does not allocate.
func (p *Pair) present() *tls.Certificate {
	if stapled := p.staple.Load(); stapled != nil && time.Now().Before(stapled.until) {
		return stapled.certificate
	}
	return p.plain
}

// Issuer returns the certificate in the chain that has signed the leaf, or nil. It parses the chain at each call.
func (p *Pair) Issuer() *x509.Certificate {
	for _, der := range p.plain.Certificate[1:] {
		issuer, err := x509.ParseCertificate(der)
		if err == nil && p.Leaf.CheckSignatureFrom(issuer) == nil {
			return issuer
		}
	}
	return nil
}

// MustStaple reports whether a certificate demands that the server staples an OCSP response: its TLS feature extension
// (RFC 7633) names status_request. Clients that know the extension refuse it otherwise.
func MustStaple(leaf *x509.Certificate) bool {
	const statusRequest = 5 // RFC 6066, section 8.
	for _, extension := range leaf.Extensions {
		if !extension.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}) {
			continue
		}
		var features []int
		rest, err := asn1.Unmarshal(extension.Value, &features)
		return err == nil && len(rest) == 0 && slices.Contains(features, statusRequest)
	}
	return false
}
