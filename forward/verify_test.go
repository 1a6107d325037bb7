package forward_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// below returns an authority that another one has signed.
func (a *authority) below(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "below " + a.certificate.Subject.CommonName}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	made := &authority{key: newKey(t)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, made.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if made.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return made
}

// TestVerification has servers whose names are not sent, and chains of different lengths. An empty want is a refusal.
func TestVerification(t *testing.T) {
	root, stranger := newAuthority(t), newAuthority(t)
	first := root.below(t)
	second := first.below(t)
	long := second.sign(t, "db.example")
	long.CertFile += pemOf(second.certificate) + pemOf(first.certificate)
	direct, foreign := root.sign(t, "db.example"), stranger.sign(t, "db.example")
	trusted := []string{pemOf(root.certificate)}
	unnamed := dynamic.ServersTransport{RootCAs: trusted, DisableSNI: true}
	for name, row := range map[string]struct {
		pair      dynamic.Certificate
		host      string
		transport dynamic.ServersTransport
		sni       string
		trusted   bool
	}{
		"named":                 {direct, "db.example", dynamic.ServersTransport{RootCAs: trusted}, "db.example", true},
		"unnamed":               {direct, "db.example", unnamed, "", true},
		"unnamed, another name": {direct, "x.example", unnamed, "", false},
		"unnamed, stranger":     {foreign, "db.example", unnamed, "", false},
		"unnamed, by serverName": {
			direct, "x.example",
			dynamic.ServersTransport{RootCAs: trusted, DisableSNI: true, ServerName: "db.example"},
			"", true,
		},
		"unnamed, insecure": {
			foreign, "x.example", dynamic.ServersTransport{InsecureSkipVerify: true, DisableSNI: true}, "", true,
		},
		"unnamed, peer names": {
			direct, "db.example",
			dynamic.ServersTransport{RootCAs: trusted, DisableSNI: true, PeerCertSANs: sans("DNSName", "db.example")},
			"", true,
		},
		"unnamed, other peer names": {
			direct, "db.example",
			dynamic.ServersTransport{RootCAs: trusted, DisableSNI: true, PeerCertSANs: sans("DNSName", "x.example")},
			"", false,
		},
		"long chain": {long, "db.example", dynamic.ServersTransport{RootCAs: trusted}, "db.example", true},
		"long chain, depth 2": {
			long, "db.example", dynamic.ServersTransport{RootCAs: trusted, VerifyDepth: new(2)}, "db.example", true,
		},
		"long chain, depth 1": {
			long, "db.example", dynamic.ServersTransport{RootCAs: trusted, VerifyDepth: new(1)}, "db.example", false,
		},
		"long chain, depth 1, unnamed": {
			long, "db.example", dynamic.ServersTransport{RootCAs: trusted, VerifyDepth: new(1), DisableSNI: true}, "", false,
		},
		"long chain, depth 2, unnamed": {
			long, "db.example", dynamic.ServersTransport{RootCAs: trusted, VerifyDepth: new(2), DisableSNI: true}, "", true,
		},
		"direct, depth 0": {
			direct, "db.example", dynamic.ServersTransport{RootCAs: trusted, VerifyDepth: new(0)}, "db.example", true,
		},
		"depth and peer names": {
			long, "db.example", dynamic.ServersTransport{
				RootCAs: trusted, VerifyDepth: new(2), PeerCertSANs: sans("DNSName", "x.example"),
			}, "db.example", false,
		},
	} {
		for _, onlyHTTP1 := range []bool{false, true} {
			row.transport.DisableHTTP2 = onlyHTTP1
			row.transport.MaxIdleConnsPerHost = -1
			server := secured(t, row.pair, &tls.Config{})
			own, err := forward.NewTransport("test", &row.transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			g := newProxy(t, setup{server: server, transport: &row.transport})
			g.registry.Configure(g.pool, loadbalancer.PoolSpec{
				Name: "svc@file", Dialer: own, Servers: []loadbalancer.ServerSpec{
					{Address: addressOf(t, server), Scheme: "https", Host: row.host, Weight: 1},
				},
			})
			// The second request over HTTP/1.1 resumes the session, which is verified all the same.
			for _, resumed := range []string{"false", "true"} {
				if resumed == "true" && !onlyHTTP1 {
					continue
				}
				want := "Bad Gateway"
				if row.trusted {
					want = map[bool]string{true: "HTTP/1.1", false: "HTTP/2.0"}[onlyHTTP1] + " sni=" + row.sni + " resumed=" +
						resumed + " client="
				}
				_, body := g.get(t, "/")
				equal(t, name, body, want)
			}
		}
	}
}

func TestVerifyDepthThatMakesNoSense(t *testing.T) {
	for want, config := range map[string]dynamic.ServersTransport{
		`serversTransport "test": verifyDepth -1 is negative`: {VerifyDepth: new(-1)},
		`serversTransport "test": verifyDepth and insecureSkipVerify exclude one another`: {
			VerifyDepth: new(1), InsecureSkipVerify: true,
		},
	} {
		if _, err := forward.NewTransport("test", &config, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
