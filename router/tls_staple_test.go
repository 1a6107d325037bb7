package router

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// stapleSink notes what it is given.
type stapleSink struct{ served [][]certificate.Served }

func (s *stapleSink) Serve(served []certificate.Served) { s.served = append(s.served, served) }

// The certificates that serve are passed on when they change, each once with all objects that hold it.
func TestServedCertificatesArePassedOn(t *testing.T) {
	b := newBench(t)
	sink := &stapleSink{}
	b.compiler.tls.staples = sink
	pair := selfSigned(t, "a.test")
	b.config.TLS.Certificates = []*dynamic.CertificateEntry{
		{Name: "one@file", Certificate: pair}, {Name: "two@file", Certificate: pair},
	}
	b.apply(true, ref(dynamic.KindCertificate, "one@file"), ref(dynamic.KindCertificate, "two@file"))
	if len(sink.served) != 1 || len(sink.served[0]) != 1 || len(sink.served[0][0].Objects) != 2 {
		t.Fatalf("served: %+v", sink.served)
	}
	b.secure("shop@file", "Host(`a.test`)", "a@internal", "")
	b.apply(true, ref(dynamic.KindRouter, "shop@file"))
	if n := len(sink.served); n != 1 {
		t.Errorf("passed on %d times, though no certificate has changed", n)
	}
}

// A certificate that demands a staple and cannot get one has a verdict.
func TestMustStapleVerdicts(t *testing.T) {
	for want, staples := range map[string]Staples{
		"the option ocsp of the static configuration is not set": nil, "names no OCSP responder": &stapleSink{},
	} {
		urls := []string{"http://ocsp.test/"}
		if staples != nil {
			urls = nil
		}
		b := newBench(t)
		b.compiler.tls.staples = staples
		demanding := &x509.Certificate{DNSNames: []string{"a.test"}, OCSPServer: urls, ExtraExtensions: []pkix.Extension{
			{Id: []int{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: []byte{0x30, 3, 2, 1, 5}},
		}}
		b.config.TLS.Certificates = []*dynamic.CertificateEntry{{Name: "one@file", Certificate: signed(t, demanding)}}
		b.apply(true, ref(dynamic.KindCertificate, "one@file"))
		b.wantVerdict(ref(dynamic.KindCertificate, "one@file"), dynamic.Degraded, want)
	}
}
