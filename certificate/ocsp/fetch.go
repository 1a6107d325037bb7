package ocsp

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluiceproxy/sluice/certificate"
)

const (
	// requestTimeout bounds a request with its response.
	requestTimeout = 10 * time.Second
	// maxResponders bounds the URLs of a certificate that are tried.
	maxResponders = 4
	// maxResponse bounds a response, in bytes. One with the certificate of a delegated responder has about 2 KB.
	maxResponse = 64 << 10
	// clockSkew is how far behind that of a responder our clock may be.
	clockSkew = time.Minute
	// withoutEnd is how long a response without nextUpdate is used: there is always a newer one (RFC 6960, section
	// 4.2.2.1).
	withoutEnd = time.Hour
)

// answer is the result of an attempt: a response that was verified, or err.
type answer struct {
	status                        status
	response                      []byte
	thisUpdate, nextUpdate, until time.Time
	responder                     string
	// detail says why the certificate is not good.
	detail string
	err    error
	// local says that no responder was reached because of the certificate.
	local bool
}

// result returns the label of the metrics.
func (a answer) result() string {
	switch {
	case a.err != nil:
		return resultFailed
	case a.status == statusGood:
		return resultGood
	case a.status == statusRevoked:
		return resultRevoked
	}
	return resultUnknown
}

// query queries the responders of a certificate in order, until one has a response that is valid.
func (s *Stapler) query(ctx context.Context, t *task, pairs []*certificate.Pair) answer {
	var issuer *x509.Certificate
	for _, pair := range pairs {
		if issuer = pair.Issuer(); issuer != nil {
			break
		}
	}
	if issuer == nil {
		return answer{
			local: true,
			err:   errors.New("certFile has no certificate of the issuer, which the request for a response needs"),
		}
	}
	request, err := ocsp.CreateRequest(t.leaf, issuer, nil)
	if err != nil {
		return answer{local: true, err: fmt.Errorf("request: %w", err)}
	}
	var failed []error
	for _, responder := range t.urls {
		answered, err := s.queryOne(ctx, responder, request, t.leaf, issuer)
		if err == nil {
			return answered
		}
		failed = append(failed, err)
	}
	return answer{err: joined(failed)}
}

// joined puts several errors into one line.
func joined(failed []error) error {
	all := failed[0]
	for _, one := range failed[1:] {
		all = fmt.Errorf("%w; %w", all, one)
	}
	return all
}

// queryOne queries one responder.
func (s *Stapler) queryOne(
	ctx context.Context, responder string, request []byte, leaf, issuer *x509.Certificate,
) (answer, error) {
	address, err := parseResponder(responder)
	if err != nil {
		return answer{}, err
	}
	shown := (&url.URL{Scheme: address.Scheme, Host: address.Host}).String()
	response, err := s.post(ctx, address, request)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", shown, err)
	}
	answered, err := verify(response, leaf, issuer, time.Now())
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", shown, err)
	}
	answered.responder = shown
	return answered, nil
}

// parseResponder parses the URL of a responder. The error does not contain it, since it may hold a password.
func parseResponder(responder string) (*url.URL, error) {
	address, err := url.Parse(responder)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the responder is not valid")
	case address.Scheme != "http" && address.Scheme != "https":
		return nil, fmt.Errorf("the URL of the responder has the scheme %q, expected http or https", address.Scheme)
	case address.Host == "":
		return nil, errors.New("the URL of the responder has no host")
	}
	return address, nil
}

// post sends a request (RFC 6960, appendix A.1).
func (s *Stapler) post(ctx context.Context, address *url.URL, request []byte) ([]byte, error) {
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(request))
	if err != nil {
		return nil, errors.New("the URL of the responder is not valid")
	}
	sent.Header.Set("Content-Type", "application/ocsp-request")
	sent.Header.Set("Accept", "application/ocsp-response")
	sent.Header.Set("User-Agent", "sluice")
	received, err := s.client.Do(sent)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // The URL is not shown.
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = received.Body.Close() }()
	if received.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the responder answers with HTTP status %d", received.StatusCode)
	}
	response, err := io.ReadAll(io.LimitReader(received.Body, maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	if len(response) > maxResponse {
		return nil, fmt.Errorf("the response has more than %d bytes", maxResponse)
	}
	return response, nil
}

// verify checks a response: that it is for the certificate, signed by the issuer or a responder to which the issuer
// delegates (RFC 6960, section 4.2.2.2), and valid now.
func verify(response []byte, leaf, issuer *x509.Certificate, now time.Time) (answer, error) {
	// Without an issuer the library checks a signature only against an embedded certificate, which is judged below.
	parsed, err := ocsp.ParseResponseForCert(response, leaf, nil)
	if err != nil {
		return answer{}, fmt.Errorf("the response is refused: %w", err)
	}
	if err := checkSigner(parsed, issuer, now); err != nil {
		return answer{}, fmt.Errorf("the response is refused: %w", err)
	}
	if parsed.ThisUpdate.After(now.Add(clockSkew)) {
		return answer{}, fmt.Errorf("the response counts from %s on, which is in the future", shown(parsed.ThisUpdate))
	}
	until := parsed.NextUpdate
	if until.IsZero() {
		until = now.Add(withoutEnd)
	}
	if !now.Before(until) {
		return answer{}, fmt.Errorf("the response ended on %s", shown(until))
	}
	answered := answer{
		response: response, thisUpdate: parsed.ThisUpdate, nextUpdate: parsed.NextUpdate, until: until,
	}
	switch parsed.Status {
	case ocsp.Good:
		answered.status = statusGood
	case ocsp.Revoked:
		answered.status = statusRevoked
		answered.detail = fmt.Sprintf("it was revoked on %s (%s)", shown(parsed.RevokedAt),
			revocation(parsed.RevocationReason))
	default:
		answered.status = statusUnknown
		answered.detail = fmt.Sprintf("its responder does not know it (since %s)", shown(parsed.ThisUpdate))
	}
	return answered, nil
}

// checkSigner checks who has signed a response.
func checkSigner(parsed *ocsp.Response, issuer *x509.Certificate, now time.Time) error {
	signer := parsed.Certificate
	if signer == nil || bytes.Equal(signer.RawSubjectPublicKeyInfo, issuer.RawSubjectPublicKeyInfo) {
		if err := parsed.CheckSignatureFrom(issuer); err != nil {
			return fmt.Errorf("it is not signed by the issuer of the certificate: %w", err)
		}
		return nil
	}
	err := issuer.CheckSignature(signer.SignatureAlgorithm, signer.RawTBSCertificate, signer.Signature)
	switch {
	case err != nil || !bytes.Equal(signer.RawIssuer, issuer.RawSubject):
		return errors.New("it is signed by a responder that the issuer of the certificate has not certified")
	case !slices.Contains(signer.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
		return errors.New("it is signed with a certificate that is not for OCSP (extended key usage OCSPSigning)")
	case now.Before(signer.NotBefore) || now.After(signer.NotAfter):
		return errors.New("it is signed with a certificate that is not valid now")
	}
	// The library has checked the signature of an embedded certificate.
	return nil
}

// revocation returns the name of a reason (RFC 5280, section 5.3.1).
func revocation(reason int) string {
	names := map[int]string{
		ocsp.KeyCompromise: "keyCompromise", ocsp.CACompromise: "cACompromise",
		ocsp.AffiliationChanged: "affiliationChanged", ocsp.Superseded: "superseded",
		ocsp.CessationOfOperation: "cessationOfOperation", ocsp.CertificateHold: "certificateHold",
		ocsp.RemoveFromCRL: "removeFromCRL", ocsp.PrivilegeWithdrawn: "privilegeWithdrawn",
		ocsp.AACompromise: "aACompromise",
	}
	if name, known := names[reason]; known {
		return name
	}
	return "without a reason"
}
