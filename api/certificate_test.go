package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/ocsp"
)

// chain lists certificates.
type chain []*x509.Certificate

func (c chain) Certificates() []*x509.Certificate { return c }

// issue makes a certificate that signs itself.
func issue(t *testing.T, name string, begin, end time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(4711), NotBefore: begin, NotAfter: end, DNSNames: []string{name, "also." + name},
		IPAddresses: []net.IP{{192, 0, 2, 1}},
		Subject:     pkix.Name{CommonName: name, Organization: []string{"Weir"}, Country: []string{"NZ"}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// issued returns a certificate that is good for a day.
func issued(t *testing.T) *x509.Certificate {
	return issue(t, "shop.test", time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
}

func TestCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UTC().Truncate(time.Second)
		long := issue(t, "long.test", now.Add(-time.Hour), now.Add(40*24*time.Hour))
		options := sampleOptions()
		options.Certificates = chain{
			long, issue(t, "soon.test", now.Add(-time.Hour), now.Add(time.Hour)), long, nil,
			issue(t, "over.test", now.Add(-2*time.Hour), now.Add(-time.Hour)), issue(t, "early.test", now.Add(time.Hour),
				now.Add(90*24*time.Hour)),
		}.Certificates
		handler := New(options)
		for target, want := range map[string][]string{
			"":                                  {"early.test", "long.test", "over.test", "soon.test"},
			"?status=enabled":                   {"long.test"},
			"?status=warning":                   {"soon.test"},
			"?status=disabled":                  {"early.test", "over.test"},
			"?search=ALSO.OVER":                 {"over.test"},
			"?search=weir&per_page=1":           {"early.test"},
			"?search=192.0.2.9":                 {},
			"?sortBy=validUntil":                {"over.test", "soon.test", "long.test", "early.test"},
			"?sortBy=status&direction=desc":     {"soon.test", "long.test", "over.test", "early.test"},
			"?sortBy=issuer&page=2&per_page=3":  {"soon.test"},
			"?direction=desc&page=1&per_page=1": {"soon.test"},
		} {
			got, _ := names(t, handler, "/api/certificates"+target)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", target, diff)
			}
		}
		var shown certificate
		answer := ask(t, handler, http.MethodGet, "/api/certificates/"+fingerprint(long.Raw))
		if err := json.Unmarshal(answer.Body.Bytes(), &shown); err != nil {
			t.Fatalf("%v: %s", err, answer.Body)
		}
		want := certificate{
			Name: fingerprint(long.Raw), CertFingerprint: fingerprint(long.Raw),
			PublicKeyFingerprint: fingerprint(long.RawSubjectPublicKeyInfo),
			SANs:                 []string{"192.0.2.1", "also.long.test", "long.test"}, NotBefore: long.NotBefore,
			NotAfter:     long.NotAfter,
			SerialNumber: "4711",
			CommonName:   "long.test", IssuerOrg: "Weir", IssuerCN: "long.test", IssuerCountry: "NZ", Organization: "Weir",
			Country: "NZ",
			Version: "v3", KeyType: "ECDSA", KeySize: 256, SignatureAlgorithm: "ECDSA-SHA256", Status: "enabled",
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("certificate (-want +got):\n%s", diff)
		}
	})
}

// The state of an OCSP response is shown with its certificate.
func TestCertificatesWithOCSP(t *testing.T) {
	with, without := issue(t, "with.test", time.Now(), time.Now().Add(time.Hour)), issued(t)
	want := ocsp.Status{
		State: ocsp.StateFailing, Stapled: true, ThisUpdate: time.Now().UTC().Truncate(time.Second),
		NextUpdate: time.Now().UTC().Truncate(time.Second), Responder: "http://ocsp.test", Error: "connection refused",
		Failures: 2, Next: time.Now().UTC().Truncate(time.Second),
	}
	options := sampleOptions()
	options.Certificates = chain{with, without}.Certificates
	options.Staple = func(sum string) (ocsp.Status, bool) { return want, sum == fingerprint(with.Raw) }
	handler := New(options)
	listed := ask(t, handler, http.MethodGet, "/api/certificates").Body.Bytes()
	fits(t, schemaOf(t, published(t), "/api/certificates", http.StatusOK), listed)
	var list []certificate
	if err := json.Unmarshal(listed, &list); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*ocsp.Status{nil, &want}, []*ocsp.Status{list[0].OCSP, list[1].OCSP}); diff != "" {
		t.Error(diff)
	}
	var shown certificate
	answer := ask(t, handler, http.MethodGet, "/api/certificates/"+fingerprint(with.Raw)).Body.Bytes()
	if err := json.Unmarshal(answer, &shown); err != nil || shown.OCSP == nil {
		t.Errorf("%v: %s", err, answer)
	}
}
