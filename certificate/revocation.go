package certificate

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// RevocationError says why a client certificate is refused that an authority has signed (clientAuth.crlFiles).
type RevocationError struct {
	// Serial is the serial number of the certificate in hexadecimal digits.
	Serial string
	// Issuer is the name of the authority that has signed it.
	Issuer string
	// Reason is the cause.
	Reason string
}

// Error returns the cause with the certificate.
func (e *RevocationError) Error() string {
	return fmt.Sprintf("client certificate %s of %q: %s", e.Serial, e.Issuer, e.Reason)
}

// CRL is a certificate revocation list as operators see it.
type CRL struct {
	// Options is the qualified name of the TLS options with the list.
	Options string
	// Issuer is the name of the authority.
	Issuer string
	// ThisUpdate is when the list was issued, NextUpdate until when it is valid.
	ThisUpdate, NextUpdate time.Time
	// Revoked is the number of revoked certificates.
	Revoked int
}

// Revocations decide which client certificates are revoked, for callers that verify them after the handshake. They are
// immutable, and safe for concurrent use.
type Revocations struct{ lists *revocations }

// NewRevocations reads CRLs in PEM or DER, one or more in each text. Section is that of the options caFiles, which has
// the authorities, and crlFiles, for errors.
func NewRevocations(section string, texts [][]byte, authorities []*x509.Certificate) (*Revocations, error) {
	var all []*crl
	for i, text := range texts {
		lists, err := parseCRLs(text)
		if err != nil {
			return nil, fmt.Errorf("%s.crlFiles[%d]: %w", section, i, err)
		}
		all = append(all, lists...)
	}
	lists, err := newRevocations(section, all, authorities)
	if err != nil {
		return nil, err
	}
	return &Revocations{lists}, nil
}

// Check refuses verified chains of a client as those of a handshake: see clientAuth.crlFiles. The error may be a
// [*RevocationError].
func (r *Revocations) Check(chains [][]*x509.Certificate, now time.Time) error {
	return r.lists.checkChains(chains, now)
}

// Until returns when the first of the lists ends or begins to count: an earlier result of Check holds until then. It is
// zero if no list does.
func (r *Revocations) Until() time.Time { return r.lists.until }

// revocations decide which client certificates are revoked. They are immutable.
type revocations struct {
	// section is that of the options caFiles and crlFiles.
	section string
	// lists holds those of each issuer by its encoded name, the latest first.
	lists map[string][]*crl
	// authorities are the certificates of clientAuth.caFiles.
	authorities []*x509.Certificate
	// until is when the first of the lists ends or begins to count: an earlier result of check holds until then.
	until time.Time
}

// newRevocations checks who has signed the lists. Those of authorities that are not among the given ones are checked
// once a client presents the authority.
func newRevocations(section string, lists []*crl, authorities []*x509.Certificate) (*revocations, error) {
	r := &revocations{section: section, lists: map[string][]*crl{}, authorities: authorities}
	now := time.Now()
	for _, list := range lists {
		for _, at := range []time.Time{list.nextUpdate, list.thisUpdate.Add(-crlSkew)} {
			if at.After(now) && (r.until.IsZero() || at.Before(r.until)) {
				r.until = at
			}
		}
		claimed, valid := false, false
		for _, authority := range authorities {
			claimed = claimed || list.claims(authority)
			valid = valid || list.signedBy(authority)
		}
		if claimed && !valid {
			return nil, fmt.Errorf("%[1]s.crlFiles: the signature of the CRL of %[2]q is not of the authority with this "+
				"name in %[1]s.caFiles, or that must not sign CRLs (key usage cRLSign)", section, list.issuer)
		}
		if valid {
			list.signed = nil // It is as long as the list.
		}
		r.lists[string(list.rawIssuer)] = append(r.lists[string(list.rawIssuer)], list)
	}
	for _, same := range r.lists {
		slices.SortStableFunc(same, func(a, b *crl) int { return b.thisUpdate.Compare(a.thisUpdate) })
	}
	return r, nil
}

// issuers returns the sorted encoded names of the authorities with lists.
func (r *revocations) issuers() [][]byte {
	var names [][]byte
	for name := range r.lists {
		names = append(names, []byte(name))
	}
	slices.SortFunc(names, bytes.Compare)
	return names
}

// crlSkew is how far behind that of an authority our clock may be.
const crlSkew = time.Minute

// of returns the latest list of an authority that is in force at a time or has been; nil without one.
func (r *revocations) of(authority *x509.Certificate, now time.Time) *crl {
	for _, list := range r.lists[string(authority.RawSubject)] {
		if list.begun(now) && list.signedBy(authority) {
			return list
		}
	}
	return nil
}

// check refuses a client of which a certificate is revoked in any of its chains. In one chain at least, every
// certificate below the trusted one must have an issuer whose list is valid.
func (r *revocations) check(state *tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	return r.checkChains(state.VerifiedChains, time.Now())
}

func (r *revocations) checkChains(chains [][]*x509.Certificate, now time.Time) error {
	covered, problem := false, errors.New("the client certificate has no verified chain")
	for _, chain := range chains {
		if err := r.revoked(chain, now); err != nil {
			return err
		}
		if err := r.uncovered(chain, now); err != nil {
			problem = err
		} else {
			covered = true
		}
	}
	if covered {
		return nil
	}
	return problem
}

// verify is check with the error that crypto/tls has for certificates that it refuses itself.
func (r *revocations) verify(state tls.ConnectionState) error {
	if err := r.check(&state); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// revoked returns an error if the issuer of a certificate has revoked it. The issuer of the last one is looked for
// among the trusted authorities.
func (r *revocations) revoked(chain []*x509.Certificate, now time.Time) error {
	for i, one := range chain {
		issuers := r.authorities
		if i+1 < len(chain) {
			issuers = chain[i+1 : i+2]
		}
		for _, issuer := range issuers {
			if !bytes.Equal(one.RawIssuer, issuer.RawSubject) {
				continue
			}
			if list := r.of(issuer, now); list != nil && list.has(one) {
				return refusal(one, "it is revoked")
			}
		}
	}
	return nil
}

// uncovered returns an error if it is unknown of a certificate whether it is revoked.
func (r *revocations) uncovered(chain []*x509.Certificate, now time.Time) error {
	for i, one := range chain[:len(chain)-1] {
		switch list := r.of(chain[i+1], now); {
		case list == nil:
			return refusal(one, "there is no valid CRL of its issuer in "+r.section+".crlFiles")
		case now.After(list.nextUpdate):
			return refusal(one, "the CRL of its issuer has expired on "+stamp(list.nextUpdate))
		}
	}
	return nil
}

func refusal(one *x509.Certificate, reason string) error {
	return &RevocationError{Serial: fmt.Sprintf("%x", one.SerialNumber), Issuer: one.Issuer.String(), Reason: reason}
}

func stamp(at time.Time) string { return at.UTC().Format(time.DateTime) + " UTC" }

// warnings returns what of the lists shuts clients out at a time, or soon will: in the last tenth of their validity.
func (r *revocations) warnings(now time.Time) []string {
	var all []string
	for _, authority := range r.authorities {
		// Among the authorities may be certificates of clients, which sign none.
		leaf := authority.Version == 3 && !authority.BasicConstraintsValid ||
			authority.BasicConstraintsValid && !authority.IsCA
		if !leaf && r.of(authority, now) == nil {
			all = append(all, fmt.Sprintf("%s.crlFiles has no valid CRL of %q: clients with certificates of this "+
				"authority are refused", r.section, authority.Subject))
		}
	}
	for _, issuer := range r.issuers() {
		same := r.lists[string(issuer)]
		for i, list := range same {
			lead := list.nextUpdate.Sub(list.thisUpdate) / 10
			switch {
			case slices.ContainsFunc(same[:i], list.replacedBy):
			case !list.begun(now):
				all = append(all, fmt.Sprintf("the CRL of %q is valid from %s on", list.issuer, stamp(list.thisUpdate)))
			case now.After(list.nextUpdate):
				all = append(all, fmt.Sprintf("the CRL of %q has expired on %s: clients with certificates of this authority "+
					"are refused", list.issuer, stamp(list.nextUpdate)))
			case now.After(list.nextUpdate.Add(-lead)):
				all = append(all, fmt.Sprintf("the CRL of %q expires on %s: from then on, clients with certificates of this "+
					"authority are refused", list.issuer, stamp(list.nextUpdate)))
			}
		}
	}
	return all
}

// CRLs returns the lists that handshakes with the options use, sorted by issuer.
func (o *Options) CRLs() []CRL {
	if o.revocations == nil {
		return nil
	}
	var all []CRL
	for _, lists := range o.revocations.lists {
		for _, list := range lists {
			all = append(all, CRL{
				Options: o.Name, Issuer: list.issuer, ThisUpdate: list.thisUpdate, NextUpdate: list.nextUpdate,
				Revoked: len(list.revoked),
			})
		}
	}
	slices.SortFunc(all, func(a, b CRL) int {
		return cmp.Or(cmp.Compare(a.Issuer, b.Issuer), b.ThisUpdate.Compare(a.ThisUpdate))
	})
	return all
}

// LateWarnings returns warnings that have become due since the options were made, such as a CRL that has expired.
func (o *Options) LateWarnings(now time.Time) []string {
	if o.revocations == nil {
		return nil
	}
	before := o.revocations.warnings(o.made)
	return slices.DeleteFunc(o.revocations.warnings(now), func(w string) bool { return slices.Contains(before, w) })
}

// Connection returns the state of a connection whose handshake uses the options.
func (o *Options) Connection(serverName string) Connection {
	return Connection{Fingerprint: o.Fingerprint, ServerName: serverName, revocations: o.revocations}
}

// Accepts reports whether the options accept the client of a connection, which may have been made under others: those
// must have the same fingerprint, and no certificate of the client may have been revoked since, nor a CRL have expired.
// state is that of the connection.
func (o *Options) Accepts(connection *Connection, state *tls.ConnectionState) bool {
	if connection == nil || connection.Fingerprint != o.Fingerprint {
		return false
	}
	if o.revocations == nil || o.revocations == connection.revocations && time.Now().Before(o.revocations.until) {
		return true
	}
	return state != nil && o.revocations.check(state) == nil
}
