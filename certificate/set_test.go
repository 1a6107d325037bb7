package certificate_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

func hello(serverName string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{ServerName: serverName}
}

func TestGetChoosesBySNI(t *testing.T) {
	exact := issueFor(t, "a.example.com", "Mixed.Example.com")
	wildcard := issueFor(t, "*.example.com")
	fallback := issueFor(t, "default.example.org")
	common := issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "cn.example.net"}}, newECDSA(t), nil)
	hidden := issue(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "ignored.example.net"}, DNSNames: []string{"san.example.net"},
	}, newECDSA(t), nil)
	set, problems := certificate.NewSet([]certificate.Entry{
		{Name: "exact", Certificate: exact.write(t)},
		{Name: "wildcard", Certificate: wildcard.inline()},
		{Name: "default", Certificate: fallback.inline(), Default: true},
		{Name: "cn", Certificate: common.inline()},
		{Name: "san", Certificate: hidden.inline()},
	}, nil)
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	for _, test := range []struct {
		name string
		want issued
		// strict is whether sniStrict accepts the name.
		strict bool
	}{
		{"a.example.com", exact, true},
		{"A.EXAMPLE.COM", exact, true},
		{"a.example.com.", exact, true},
		{"mixed.example.com", exact, true},
		{"b.example.com", wildcard, true},
		{"a.b.example.com", fallback, false},
		{"example.com", fallback, false},
		{".example.com", fallback, false},
		{"default.example.org", fallback, true},
		{"cn.example.net", common, true},
		{"san.example.net", hidden, true},
		{"ignored.example.net", fallback, false},
		{"", fallback, false},
		{strings.Repeat("a.", 200), fallback, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := set.Get(hello(test.name), false)
			if !bytes.Equal(got.Leaf.Raw, test.want.leaf.Raw) {
				t.Errorf("got %v %v", got.Leaf.DNSNames, got.Leaf.Subject)
			}
			if got := set.Get(hello(test.name), true) != nil; got != test.strict {
				t.Errorf("strict: found %v, want %v", got, test.strict)
			}
		})
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	set, _ := certificate.NewSet([]certificate.Entry{{Certificate: issueFor(t, "*.example.com").inline()}}, nil)
	one, none := hello("A.example.com"), hello("a.example.org")
	if n := testing.AllocsPerRun(100, func() { set.Get(one, false); set.Get(none, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestGetAmongSeveral(t *testing.T) {
	day := 24 * time.Hour
	until := func(end time.Duration) issued {
		return issue(t, x509.Certificate{DNSNames: []string{"a.example.com"}, NotAfter: time.Now().Add(end)}, newECDSA(t),
			nil)
	}
	short, long, expired := until(day), until(30*day), until(-time.Minute)
	longest := until(60 * day)
	for _, test := range []struct {
		name    string
		entries []certificate.Entry
		want    issued
	}{
		{"the one that ends last", []certificate.Entry{{Certificate: short.inline()}, {Certificate: long.inline()}}, long},
		{"whatever the order", []certificate.Entry{{Certificate: long.inline()}, {Certificate: short.inline()}}, long},
		{"not an expired one", []certificate.Entry{{Certificate: expired.inline()}, {Certificate: short.inline()}}, short},
		{
			"not the default",
			[]certificate.Entry{{Certificate: longest.inline(), Default: true}, {Certificate: short.inline()}},
			short,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, _ := certificate.NewSet(test.entries, nil)
			// A ClientHello that supports nothing leaves the order alone.
			if got := set.Get(hello("a.example.com"), false); !bytes.Equal(got.Leaf.Raw, test.want.leaf.Raw) {
				t.Errorf("got the one that ends at %v", got.Leaf.NotAfter)
			}
		})
	}
}

func TestGetPrefersWhatTheClientSupports(t *testing.T) {
	modern := issue(t, x509.Certificate{DNSNames: []string{"a.example.com"}, NotAfter: time.Now().Add(time.Hour * 90)},
		newECDSA(t), nil)
	old := issue(t, x509.Certificate{DNSNames: []string{"a.example.com"}}, newRSA(t), nil)
	set, _ := certificate.NewSet([]certificate.Entry{{Certificate: modern.inline()}, {Certificate: old.inline()}}, nil)
	options, err := certificate.NewOptions("default", nil, func() *certificate.Set { return set }, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for suite, want := range map[uint16]issued{
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:   old,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: modern,
	} {
		client := blind("a.example.com")
		client.MaxVersion, client.CipherSuites = tls.VersionTLS12, []uint16{suite}
		state, err := shake(t, options.Config(), client)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(state.PeerCertificates[0].Raw, want.leaf.Raw) {
			t.Errorf("%s: got %v", tls.CipherSuiteName(suite), state.PeerCertificates[0].PublicKeyAlgorithm)
		}
	}
}

func TestNewSetNamesProblems(t *testing.T) {
	good, other := issueFor(t, "good.example.com"), issueFor(t, "other.example.com")
	dir := t.TempDir()
	junk, big := filepath.Join(dir, "junk.crt"), filepath.Join(dir, "big.crt")
	if err := os.WriteFile(junk, []byte("not PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.crt")
	expired := issue(t, x509.Certificate{DNSNames: []string{"expired.example.com"}, NotAfter: time.Now().Add(-time.Hour)},
		newECDSA(t), nil)
	future := issue(t, x509.Certificate{
		DNSNames: []string{"future.example.com"}, NotBefore: time.Now().Add(time.Hour),
		NotAfter: time.Now().Add(2 * time.Hour),
	}, newECDSA(t), nil)
	nameless := issue(t, x509.Certificate{}, newECDSA(t), nil)
	pair := func(cert, key []byte) dynamic.Certificate {
		return dynamic.Certificate{CertFile: string(cert), KeyFile: string(key)}
	}
	for _, test := range []struct {
		name        string
		certificate dynamic.Certificate
		warning     bool
		want        string
	}{
		{"missing file", dynamic.Certificate{CertFile: missing, KeyFile: missing}, false, missing + ": no such file"},
		{"directory", dynamic.Certificate{CertFile: dir, KeyFile: dir}, false, "is a directory"},
		{"no certificate", pair(nil, good.key), false, "certFile is empty"},
		{"no key", pair(good.cert, nil), false, "keyFile is empty"},
		{"other key", pair(good.cert, other.key), false, "private key does not match public key"},
		{"key for certificate", pair(good.key, good.key), false, "may have been switched"},
		{"junk", dynamic.Certificate{CertFile: junk, KeyFile: string(good.key)}, false, junk},
		{"big", dynamic.Certificate{CertFile: big, KeyFile: string(good.key)}, false, "is larger than"},
		{"expired", expired.inline(), true, "expired on"},
		{"not yet valid", future.inline(), true, "is valid from"},
		{"without a name", nameless.inline(), true, "names no host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, problems := certificate.NewSet([]certificate.Entry{
				{Name: "bad", Certificate: test.certificate},
				{Name: "good", Certificate: good.inline()},
			}, nil)
			if len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			p := problems[0]
			if p.Index != 0 || p.Name != "bad" || p.Warning != test.warning || !strings.Contains(p.Err.Error(), test.want) {
				t.Errorf("problem %+v, want %q", p, test.want)
			}
			if strings.Contains(p.Err.Error(), "BEGIN") || strings.Contains(p.Err.Error(), "\n") {
				t.Errorf("the problem repeats a key or has several lines: %v", p.Err)
			}
			if got := set.Get(hello("good.example.com"), true); got == nil {
				t.Error("the good certificate is lost")
			}
		})
	}
}

func TestNewSetKeepsWhatDidNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := issueFor(t, "a.example.com")
		first, _ := certificate.NewSet([]certificate.Entry{{Certificate: a.inline()}}, nil)
		second, _ := certificate.NewSet([]certificate.Entry{{Name: "moved", Certificate: a.write(t)}}, first)
		if first.Get(hello("a.example.com"), true) != second.Get(hello("a.example.com"), true) {
			t.Error("an unchanged certificate was parsed again")
		}
		generated := first.Get(hello(""), false)
		if generated != second.Get(hello(""), false) {
			t.Error("the generated certificate changed in a reload")
		}
		if generated.Leaf.Subject.CommonName != "SLUICE DEFAULT CERT" {
			t.Errorf("the generated certificate is called %v", generated.Leaf.Subject)
		}
		pass(350 * 24 * time.Hour)
		third, _ := certificate.NewSet(nil, second)
		if third.Get(hello(""), false).Leaf.NotAfter.Before(time.Now().Add(300 * 24 * time.Hour)) {
			t.Error("the generated certificate was not renewed")
		}
	})
}

func TestGetPrefersAssignedCertificates(t *testing.T) {
	named, assigned, other := issueFor(t, "a.example.com", "b.example.com"), issueFor(t, "x.test"), issueFor(t, "y.test")
	set, problems := certificate.NewSet([]certificate.Entry{
		{Name: "named", Certificate: named.inline()},
		{Name: "assigned", Certificate: assigned.inline(), Hosts: []string{"a.example.com", "*.wild.example.com"}},
		{Name: "other", Certificate: other.inline(), Default: true},
	}, nil)
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	for name, want := range map[string]issued{
		"a.example.com": assigned, "b.example.com": named, "c.wild.example.com": assigned, "wild.example.com": other,
		"x.test": assigned,
	} {
		if got := set.Get(hello(name), false); !bytes.Equal(got.Leaf.Raw, want.leaf.Raw) {
			t.Errorf("%s: got %v", name, got.Leaf.DNSNames)
		}
	}
}
