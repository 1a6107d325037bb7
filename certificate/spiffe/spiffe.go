// Package spiffe authenticates connections to endpoints by SPIFFE identities.
//
// Input: the X.509-SVIDs and trust bundles that a SPIFFE Workload API delivers and replaces (static option
// spiffe.workloadAPIAddr), and the section spiffe of a serversTransport. Output: the fields of a [tls.Config] that
// present the SVID and verify the identity of an endpoint. Each handshake uses what was delivered last.
//
// Nothing is accepted without verification: while there is no SVID, and once it has expired, no connection can be made.
package spiffe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options configure a Source.
type Options struct {
	// Address is that of the Workload API: unix:///path/of/socket or tcp://IP:port. The environment variable
	// SPIFFE_ENDPOINT_SOCKET is not read.
	Address string
	Logger  telemetry.Logger
	// LongestPause bounds the time between two attempts to reach the Workload API. 0 means 5 s.
	LongestPause time.Duration
	// DeniedGrace is how long an SVID is used after the Workload API has said that there is none for Sluice any more
	// (PermissionDenied; SPIFFE Workload API, section 5.2.1). An agent that has just started may say that for a moment.
	// 0 means 30 s.
	DeniedGrace time.Duration
}

// Source holds what the Workload API has delivered. It is safe for concurrent use.
type Source struct {
	options Options
	current atomic.Pointer[material]
	failure atomic.Pointer[failure]
	// changed holds a value when Ready returns another error than before.
	changed chan struct{}
	first   chan struct{}
	opened  sync.Once
	// expiry fires when the SVID expires, denied when it is dropped. Only the goroutine of Run uses them.
	expiry, denied *time.Timer
}

// material is one delivery, and never changes.
type material struct {
	certificate *tls.Certificate
	id          string
	notAfter    time.Time
	bundles     *x509bundle.Set
}

// New returns a Source that has nothing before Run. It fails when the address has none of the known forms.
func New(options Options) (*Source, error) {
	if err := workloadapi.ValidateAddress(options.Address); err != nil {
		return nil, fmt.Errorf("the address is neither unix:///path/of/socket nor tcp://IP:port: %w", err)
	}
	if options.LongestPause <= 0 {
		options.LongestPause = 5 * time.Second
	}
	if options.DeniedGrace <= 0 {
		options.DeniedGrace = 30 * time.Second
	}
	return &Source{options: options, changed: make(chan struct{}, 1), first: make(chan struct{})}, nil
}

// Ready returns why no connection can be made now: there is no SVID yet, or it has expired. It takes no lock.
func (s *Source) Ready() error {
	_, err := s.valid()
	return err
}

// valid returns what was delivered last, unless its SVID has expired.
func (s *Source) valid() (*material, error) {
	m := s.current.Load()
	switch {
	case m == nil:
		return nil, fmt.Errorf("the SPIFFE Workload API at %s has delivered no X.509-SVID yet%s", s.options.Address, s.why())
	case time.Now().After(m.notAfter):
		return nil, fmt.Errorf("the X.509-SVID %s has expired at %s, and the SPIFFE Workload API at %s has delivered no "+
			"other%s", m.id, m.notAfter.UTC().Format(time.RFC3339), s.options.Address, s.why())
	}
	return m, nil
}

// why returns the last failure of the Workload API, if it fails now.
func (s *Source) why() string {
	if failed := s.failure.Load(); failed != nil {
		return ": " + failed.text
	}
	return ""
}

// Changed returns a channel that holds a value when Ready may return another error than before.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// First returns a channel that is closed with the first SVID.
func (s *Source) First() <-chan struct{} { return s.first }

// SVID returns the identity of Sluice and the end of its validity; "" while there is none.
func (s *Source) SVID() (id string, notAfter time.Time) {
	if m := s.current.Load(); m != nil {
		return m.id, m.notAfter
	}
	return "", time.Time{}
}

// Authenticate sets what presents the SVID to servers and verifies theirs. A server is accepted by its identity: one of
// accepted.IDs if there are any, else every one of accepted.TrustDomain if it is set, else every one of a trust domain
// whose bundle was delivered. The host name is not verified. It fails when accepted names no valid identity.
//
// Sessions must not be resumed: the server would see the SVID of the first handshake.
func (s *Source) Authenticate(settings *tls.Config, accepted *dynamic.Spiffe) error {
	match, err := matcher(accepted)
	if err != nil {
		return err
	}
	settings.InsecureSkipVerify = true // VerifyConnection takes its place.
	settings.VerifyConnection = func(state tls.ConnectionState) error { return s.verify(state.PeerCertificates, match) }
	settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		m, err := s.valid()
		if err != nil {
			return nil, err
		}
		return m.certificate, nil
	}
	return nil
}

// verify runs in each handshake, also in one that resumes a session.
func (s *Source) verify(chain []*x509.Certificate, match spiffeid.Matcher) error {
	m, err := s.valid()
	if err != nil {
		return err
	}
	id, _, err := x509svid.Verify(chain, m.bundles)
	if err != nil {
		return err
	}
	if err := match(id); err != nil {
		return fmt.Errorf("the identity of the endpoint is not accepted: %w", err)
	}
	return nil
}

// matcher returns what accepts identities.
func matcher(accepted *dynamic.Spiffe) (spiffeid.Matcher, error) {
	switch {
	case len(accepted.IDs) > 0:
		ids := make([]spiffeid.ID, len(accepted.IDs))
		for i, text := range accepted.IDs {
			id, err := spiffeid.FromString(text)
			if err != nil {
				return nil, fmt.Errorf("spiffe.ids[%d]: %q is no SPIFFE ID: %w", i, text, err)
			}
			ids[i] = id
		}
		return spiffeid.MatchOneOf(ids...), nil
	case accepted.TrustDomain != "":
		domain, err := spiffeid.TrustDomainFromString(accepted.TrustDomain)
		if err != nil {
			return nil, fmt.Errorf("spiffe.trustDomain: %q is no trust domain: %w", accepted.TrustDomain, err)
		}
		return spiffeid.MatchMemberOf(domain), nil
	}
	return spiffeid.MatchAny(), nil
}

// newMaterial returns what a delivery holds; its first SVID is the default one (SPIFFE Workload API, section 5.3).
func newMaterial(delivered *workloadapi.X509Context) (*material, error) {
	svid := delivered.DefaultSVID()
	if len(svid.Certificates) == 0 {
		return nil, errors.New("the X.509-SVID holds no certificate")
	}
	certificate := &tls.Certificate{PrivateKey: svid.PrivateKey, Leaf: svid.Certificates[0]}
	for _, one := range svid.Certificates {
		certificate.Certificate = append(certificate.Certificate, one.Raw)
	}
	return &material{
		certificate: certificate, id: svid.ID.String(), notAfter: svid.Certificates[0].NotAfter, bundles: delivered.Bundles,
	}, nil
}

// domains returns the trust domains with bundles, in order.
func (m *material) domains() string {
	var names []string
	for _, bundle := range m.bundles.Bundles() {
		names = append(names, bundle.TrustDomain().Name())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// sameBundles reports whether two deliveries trust the same authorities.
func (m *material) sameBundles(other *material) bool {
	mine, others := m.bundles.Bundles(), other.bundles.Bundles()
	if len(mine) != len(others) {
		return false
	}
	for _, bundle := range mine {
		found, ok := other.bundles.Get(bundle.TrustDomain())
		if !ok || !bundle.Equal(found) {
			return false
		}
	}
	return true
}

// notify says that Ready may have changed.
func (s *Source) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// wait returns when a time is over or ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
