package router

import (
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// listServed lists the certificates that were read with their objects, of which one may be that of several.
func (t *tlsObjects) listServed(refs []dynamic.Ref) {
	t.served = make([]certificate.Served, 0, len(refs))
	at := make(map[*certificate.Pair]int, len(refs))
	for i, ref := range refs {
		pair := t.next.Pair(i)
		if pair == nil {
			continue
		}
		if _, known := at[pair]; !known {
			at[pair] = len(t.served)
			t.served = append(t.served, certificate.Served{Pair: pair})
		}
		one := &t.served[at[pair]]
		one.Objects = append(one.Objects, ref)
		if reason := t.unstapled(pair); reason != "" {
			t.report(ref, dynamic.Degraded, dynamic.CodeNotStapled, reason)
		}
	}
}

// unstapled says why clients will refuse a certificate that demands an OCSP response; empty if it demands none or may
// get one.
func (t *tlsObjects) unstapled(pair *certificate.Pair) string {
	const demands = "clients will refuse the certificate: it demands a stapled OCSP response (RFC 7633), "
	switch {
	case !certificate.MustStaple(pair.Leaf):
		return ""
	case len(pair.Leaf.OCSPServer) == 0:
		return demands + "and names no OCSP responder"
	case t.staples == nil:
		return demands + "and the option ocsp of the static configuration is not set"
	}
	return ""
}
