package ocsp_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	wire "golang.org/x/crypto/ocsp"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/ocsp"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

// answerCase is a responder and what becomes of its response.
type answerCase struct {
	name   string
	answer func(a *authority) answers
	state  string
	// problem is part of the error and of the verdict.
	problem string
}

// from returns responses with a template.
func from(template func() wire.Response) func(a *authority) answers {
	return func(a *authority) answers {
		return func(request *wire.Request) []byte { return a.response(request, template()) }
	}
}

func delegated(left time.Duration, uses ...x509.ExtKeyUsage) func(a *authority) answers {
	return func(a *authority) answers {
		key := newKey(a.t)
		signer := a.delegate(key, time.Now().Add(left), uses...)
		return func(request *wire.Request) []byte {
			der, err := wire.CreateResponse(a.cert, signer, wire.Response{
				SerialNumber: request.SerialNumber, ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour),
				Certificate: signer,
			}, key)
			if err != nil {
				a.t.Error(err)
			}
			return der
		}
	}
}

func fixed(body []byte) func(*authority) answers {
	return func(*authority) answers { return func(*wire.Request) []byte { return body } }
}

func good() wire.Response { return wire.Response{} }

func answerCases() []answerCase {
	return []answerCase{
		{"good", from(good), "good", ""},
		{"good from a responder whose clock is ahead", from(func() wire.Response {
			return wire.Response{ThisUpdate: time.Now().Add(30 * time.Second)}
		}), "good", ""},
		{"revoked", from(func() wire.Response {
			return wire.Response{
				Status: wire.Revoked, RevokedAt: time.Date(1999, 12, 24, 8, 0, 0, 0, time.UTC),
				RevocationReason: wire.KeyCompromise,
			}
		}), "revoked", "it was revoked on 1999-12-24 08:00:00 (keyCompromise)"},
		{
			"unknown", from(func() wire.Response { return wire.Response{Status: wire.Unknown} }), "unknown",
			"its responder does not know it",
		},
		{"expired", from(func() wire.Response {
			return wire.Response{ThisUpdate: time.Now().Add(-2 * time.Hour), NextUpdate: time.Now()}
		}), "failing", "the response ended on 2000-01-01 00:00:00"},
		{
			"from the future", from(func() wire.Response { return wire.Response{ThisUpdate: time.Now().Add(time.Hour)} }),
			"failing", "in the future",
		},
		{
			"for another serial number", from(func() wire.Response { return wire.Response{SerialNumber: big.NewInt(5)} }),
			"failing", "no response matching",
		},
		{"by another issuer", func(a *authority) answers {
			other := newAuthority(a.t)
			return func(request *wire.Request) []byte { return other.response(request, good()) }
		}, "failing", "not signed by the issuer"},
		{"by another issuer that is embedded", func(a *authority) answers {
			other := newAuthority(a.t)
			return func(request *wire.Request) []byte {
				return other.response(request, wire.Response{Certificate: other.cert})
			}
		}, "failing", "has not certified"},
		{"by the issuer that is embedded", func(a *authority) answers {
			return func(request *wire.Request) []byte { return a.response(request, wire.Response{Certificate: a.cert}) }
		}, "good", ""},
		{"by a delegated responder", delegated(time.Hour, x509.ExtKeyUsageOCSPSigning), "good", ""},
		{"by a server of the issuer", delegated(time.Hour, x509.ExtKeyUsageServerAuth), "failing", "OCSPSigning"},
		{"by an expired responder", delegated(-time.Minute, x509.ExtKeyUsageOCSPSigning), "failing", "not valid now"},
		{"malformed", fixed([]byte("<html>")), "failing", "the response is refused"},
		{"empty", fixed([]byte{}), "failing", "the response is refused"},
		{"unauthorized", fixed(wire.UnauthorizedErrorResponse), "failing", "unauthorized"},
		{"of 10 MB", fixed(make([]byte, 10<<20)), "failing", "more than 65536 bytes"},
		{"with an HTTP error", fixed(nil), "failing", "HTTP status 503"},
	}
}

// A response is stapled only if it is valid and says good. Everything else has a verdict with the reason.
func TestResponses(t *testing.T) {
	for _, test := range answerCases() {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				f := begin(t, ocsp.Options{Transport: network{"ocsp.test": test.answer(a)}}, a.entry(0xabc, nil, url))
				defer f.stop()
				pass(0)
				status := f.status()
				if status.State != test.state || status.Stapled != (test.state == "good") ||
					!strings.Contains(status.Error, test.problem) {
					t.Errorf("status %+v", status)
				}
				if got := f.staple(); (got != nil) != status.Stapled {
					t.Errorf("stapled: %x", got)
				}
				verdicts := f.Verdicts()
				if test.state == "good" {
					if len(verdicts) > 0 || status.Responder != "http://ocsp.test" || status.ThisUpdate.IsZero() {
						t.Errorf("verdicts %v, status %+v", verdicts, status)
					}
					return
				}
				if len(verdicts) != 1 || verdicts[0].Ref.Name != "shop@file" ||
					!strings.Contains(verdicts[0].Reason, "certificate shop.test (serial number abc)") ||
					!strings.Contains(verdicts[0].Reason, test.problem) || !strings.Contains(verdicts[0].Reason, "00:00") ||
					strings.Contains(verdicts[0].Reason, "refuse the certificate") {
					t.Errorf("verdicts %v", verdicts)
				}
			})
		})
	}
}

// A verdict on a certificate that demands a staple says that clients will refuse it.
func TestMustStaple(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := begin(t, ocsp.Options{Transport: network{}}, a.entry(7, []pkix.Extension{mustStaple}, url))
		defer f.stop()
		pass(0)
		verdicts := f.Verdicts()
		if len(verdicts) != 1 || !strings.Contains(verdicts[0].Reason, "connection refused; clients will refuse") {
			t.Errorf("verdicts %v", verdicts)
		}
	})
}

// Without the issuer in the chain no responder is queried.
func TestNoIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		entry := a.entry(7, nil, url)
		whole := entry.Certificate.CertFile
		leaf, _, _ := strings.Cut(whole, "-----END CERTIFICATE-----")
		entry.Certificate.CertFile = leaf + "-----END CERTIFICATE-----\n"
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": from(good)(a)}}, entry)
		defer f.stop()
		pass(0)
		if status := f.status(); status.State != "failing" || !strings.Contains(status.Error, "certificate of the issuer") {
			t.Errorf("status %+v", status)
		}
		// It is there now: the responder is queried at once.
		entry.Certificate.CertFile = whole
		f.use(entry)
		pass(0)
		if status := f.status(); status.State != "good" || f.staple() == nil {
			t.Errorf("status %+v", status)
		}
	})
}

// Responders are queried in order, those of overrides in place of the ones in the certificate, and no other schemes.
func TestResponderURLs(t *testing.T) {
	for name, test := range map[string]struct {
		urls      []string
		overrides map[string]string
		responder string
		problem   string
	}{
		"the second": {[]string{"http://down.test/", url}, nil, "http://ocsp.test", ""},
		"another one": {
			[]string{"http://down.test/a"}, map[string]string{"http://down.test/a": url}, "http://ocsp.test", "",
		},
		"not the same": {[]string{"http://down.test/b"}, map[string]string{"http://down.test/a": url}, "", "down.test"},
		"ldap":         {[]string{"ldap://ocsp.test/"}, nil, "", `scheme "ldap"`},
		"no host":      {[]string{"http:///x"}, nil, "", "has no host"},
		"no URL":       {[]string{"http://[::1"}, nil, "", "not valid"},
		"redirect":     {[]string{"http://moved.test/"}, nil, "", "HTTP status 307"},
		"a password": {
			[]string{url},
			map[string]string{url: "http://user:secret@down.test/path?token=secret"},
			"",
			"http://down.test: connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				f := begin(t, ocsp.Options{Overrides: test.overrides, Transport: network{
					"ocsp.test": from(good)(a), "moved.test": http.RedirectHandler(url, http.StatusTemporaryRedirect),
				}}, a.entry(7, nil, test.urls...))
				defer f.stop()
				pass(0)
				status := f.status()
				if status.Responder != test.responder || status.Stapled != (test.problem == "") ||
					!strings.Contains(status.Error, test.problem) || strings.Contains(status.Error, "secret") {
					t.Errorf("status %+v", status)
				}
			})
		})
	}
}

// Certificates without a responder are left alone.
func TestNoResponder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := begin(t, ocsp.Options{Transport: network{}}, a.entry(7, nil))
		defer f.stop()
		pass(time.Hour)
		if status, known := f.Status(f.set.Pair(0).Fingerprint); known || len(f.Verdicts()) > 0 || len(f.States()) > 0 {
			t.Errorf("status %+v", status)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add(wire.UnauthorizedErrorResponse)
	f.Add([]byte{})
	t := &testing.T{}
	a := newAuthority(t)
	entry := a.entry(7, nil, url)
	set, _ := certificate.NewSet([]certificate.Entry{entry}, nil)
	leaf := set.Pair(0).Leaf
	valid := a.response(&wire.Request{SerialNumber: leaf.SerialNumber}, good())
	f.Add(valid)
	f.Fuzz(func(t *testing.T, response []byte) {
		err := ocsp.Verify(response, leaf, a.cert, time.Now())
		if err == nil && !bytes.Equal(response, valid) {
			// Only what the signature does not cover may differ.
			if parsed, problem := wire.ParseResponseForCert(response, leaf, a.cert); problem != nil || parsed == nil {
				t.Errorf("%x is accepted", response)
			}
		}
	})
}
