package router_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
)

// stapleSink notes what it is given.
type stapleSink struct{ served [][]certificate.Served }

func (s *stapleSink) Serve(served []certificate.Served) { s.served = append(s.served, served) }

// The certificates that serve are passed on when they change, each once with all objects that hold it.
func TestServedCertificatesArePassedOn(t *testing.T) {
	sink := &stapleSink{}
	s := newSecured(func(o *router.Options) { o.Staples = sink })
	pair := issued(t, &x509.Certificate{DNSNames: []string{"a.test"}})
	configuration := &dynamic.Configuration{TLS: &dynamic.TLSConfiguration{Certificates: []*dynamic.CertificateEntry{
		{Name: "one@file", Certificate: pair}, {Name: "two@file", Certificate: pair},
	}}}
	s.apply(configuration, []dynamic.Ref{certificateRef("one@file"), certificateRef("two@file")})
	if len(sink.served) != 1 || len(sink.served[0]) != 1 || len(sink.served[0][0].Objects) != 2 {
		t.Fatalf("served: %+v", sink.served)
	}
	next := &dynamic.Configuration{TLS: configuration.TLS, HTTP: &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{"a@file": {Rule: "Host(`a.test`)", Service: "echo@internal"}}),
	}}
	s.apply(next, []dynamic.Ref{{Kind: dynamic.KindRouter, Name: "a@file"}})
	if n := len(sink.served); n != 1 {
		t.Errorf("passed on %d times, though no certificate has changed", n)
	}
}

// A certificate that demands a staple and cannot get one has a verdict.
func TestMustStapleVerdicts(t *testing.T) {
	for want, test := range map[string]struct {
		staples router.Staples
		urls    []string
	}{
		"the option ocsp of the static configuration is not set": {nil, []string{"http://ocsp.test/"}},
		"names no OCSP responder":                                {&stapleSink{}, nil},
	} {
		s := newSecured(func(o *router.Options) { o.Staples = test.staples })
		pair := issued(t, &x509.Certificate{
			DNSNames: []string{"a.test"}, OCSPServer: test.urls, ExtraExtensions: []pkix.Extension{
				{Id: []int{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: []byte{0x30, 3, 2, 1, 5}},
			},
		})
		verdicts, _ := s.apply(&dynamic.Configuration{TLS: &dynamic.TLSConfiguration{
			Certificates: []*dynamic.CertificateEntry{{Name: "one@file", Certificate: pair}},
		}}, []dynamic.Ref{certificateRef("one@file")})
		if len(verdicts) != 1 || verdicts[0].Ref != certificateRef("one@file") || verdicts[0].Status != dynamic.Degraded ||
			!strings.Contains(verdicts[0].Reason, want) {
			t.Errorf("verdicts %+v, want %q", verdicts, want)
		}
	}
}
