package certificate_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
)

// The choice of a certificate with a staple does not allocate, and the staple is not presented past its end.
func TestStaple(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, _ := certificate.NewSet([]certificate.Entry{{Certificate: issueFor(t, "a.test").inline()}}, nil)
		hello := &tls.ClientHelloInfo{ServerName: "a.test"}
		plain := set.Get(hello, true)
		set.Pair(0).Staple([]byte("response"), time.Now().Add(time.Hour))
		stapled := set.Get(hello, true)
		if plain.OCSPStaple != nil || string(stapled.OCSPStaple) != "response" || stapled.Leaf != plain.Leaf {
			t.Errorf("%q, then %q", plain.OCSPStaple, stapled.OCSPStaple)
		}
		if n := testing.AllocsPerRun(100, func() { set.Get(hello, true) }); n > 0 {
			t.Errorf("%v allocations", n)
		}
		pass(time.Hour)
		if set.Get(hello, true) != plain {
			t.Error("a response is presented past its end")
		}
		set.Pair(0).Staple([]byte("response"), time.Now().Add(time.Hour))
		set.Pair(0).Staple(nil, time.Time{})
		if set.Get(hello, true) != plain {
			t.Error("a response that was taken back is presented")
		}
	})
}

// feature returns a leaf with a TLS feature extension.
func feature(value []byte) *x509.Certificate {
	return &x509.Certificate{Extensions: []pkix.Extension{{
		Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: value,
	}}}
}

func TestMustStaple(t *testing.T) {
	for name, test := range map[string]struct {
		leaf *x509.Certificate
		want bool
	}{
		"none":              {&x509.Certificate{}, false},
		"status_request":    {feature([]byte{0x30, 3, 2, 1, 5}), true},
		"both":              {feature([]byte{0x30, 6, 2, 1, 17, 2, 1, 5}), true},
		"status_request_v2": {feature([]byte{0x30, 3, 2, 1, 17}), false},
		"malformed":         {feature([]byte{0x30, 9, 2, 1, 5}), false},
		"trailing":          {feature([]byte{0x30, 3, 2, 1, 5, 0}), false},
	} {
		if got := certificate.MustStaple(test.leaf); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func FuzzMustStaple(f *testing.F) {
	f.Add([]byte{0x30, 3, 2, 1, 5})
	f.Fuzz(func(_ *testing.T, value []byte) { certificate.MustStaple(feature(value)) })
}

// BenchmarkGet measures the choice of a certificate in a handshake.
func BenchmarkGet(b *testing.B) {
	for name, until := range map[string]time.Duration{"plain": 0, "stapled": time.Hour} {
		b.Run(name, func(b *testing.B) {
			t := &testing.T{}
			set, _ := certificate.NewSet([]certificate.Entry{{Certificate: issueFor(t, "a.test").inline()}}, nil)
			if until > 0 {
				set.Pair(0).Staple([]byte("response"), time.Now().Add(until))
			}
			hello := &tls.ClientHelloInfo{ServerName: "a.test"}
			for b.Loop() {
				set.Get(hello, true)
			}
		})
	}
}
