package certificate_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// newSigner makes a certificate authority that may sign CRLs, under another one unless parent is nil.
func newSigner(t *testing.T, name string, parent *issued) issued {
	t.Helper()
	return issue(t, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotAfter: time.Now().Add(1000 * time.Hour),
	}, newECDSA(t), parent)
}

// revoke signs a CRL that is valid for 20 hours from now on, in DER.
func (i issued) revoke(t testing.TB, change func(*x509.RevocationList), revoked ...issued) []byte {
	t.Helper()
	list := &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(20 * time.Hour),
	}
	for _, one := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: one.leaf.SerialNumber, RevocationTime: time.Now(),
		})
	}
	if change != nil {
		change(list)
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, i.leaf, i.signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func armoured(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

// presenting returns a client with a certificate and its chain.
func presenting(t *testing.T, chain ...issued) *tls.Config {
	t.Helper()
	client := blind("a.example.com")
	pair := chain[0].pair(t)
	for _, further := range chain[1:] {
		pair.Certificate = append(pair.Certificate, further.leaf.Raw)
	}
	client.Certificates = []tls.Certificate{pair}
	return client
}

func TestRevokedClientCertificatesAreRefused(t *testing.T) {
	root := newSigner(t, "root", nil)
	middle := newSigner(t, "middle", &root)
	good, bad := root.issueClient(t), root.issueClient(t)
	below, badBelow := middle.issueClient(t), middle.issueClient(t)
	rootList, middleList := armoured(root.revoke(t, nil, bad)), armoured(middle.revoke(t, nil, badBelow))
	removed := armoured(root.revoke(t, func(l *x509.RevocationList) {
		l.RevokedCertificateEntries = []x509.RevocationListEntry{
			{SerialNumber: good.leaf.SerialNumber, RevocationTime: time.Now(), ReasonCode: 8},
			{SerialNumber: bad.leaf.SerialNumber, RevocationTime: time.Now(), ReasonCode: 6},
		}
	}))
	earlier := armoured(root.revoke(t, func(l *x509.RevocationList) { l.ThisUpdate = time.Now().Add(-time.Hour) }, good))
	later := armoured(root.revoke(t, func(l *x509.RevocationList) { l.ThisUpdate = time.Now().Add(time.Hour) }, good))
	impostor := newSigner(t, "middle", nil)
	all := rootList + middleList
	for _, test := range []struct {
		name       string
		crls       []string
		authority  []issued
		chain      []issued
		acceptable bool
	}{
		{"good", []string{rootList}, []issued{root}, []issued{good}, true},
		{"revoked", []string{rootList}, []issued{root}, []issued{bad}, false},
		{"good below an intermediate", []string{all}, []issued{root}, []issued{below, middle}, true},
		{"revoked by an intermediate", []string{all}, []issued{root}, []issued{badBelow, middle}, false},
		{
			"intermediate revoked",
			[]string{armoured(root.revoke(t, nil, middle)), middleList},
			[]issued{root},
			[]issued{below, middle},
			false,
		},
		{
			"trusted intermediate revoked",
			[]string{armoured(root.revoke(t, nil, middle)), middleList},
			[]issued{root, middle},
			[]issued{below},
			false,
		},
		{"no list of the root", []string{middleList}, []issued{root}, []issued{below, middle}, false},
		{
			"no list of the root, but the intermediate is trusted",
			[]string{middleList},
			[]issued{root, middle},
			[]issued{below},
			true,
		},
		{"no list of the intermediate", []string{rootList}, []issued{root}, []issued{below, middle}, false},
		{
			"list of another intermediate of the same name",
			[]string{rootList, armoured(impostor.revoke(t, nil))},
			[]issued{root},
			[]issued{below, middle},
			false,
		},
		{"hold removed", []string{removed}, []issued{root}, []issued{good}, true},
		{"on hold", []string{removed}, []issued{root}, []issued{bad}, false},
		{"replaced list", []string{earlier, rootList}, []issued{root}, []issued{good}, true},
		{"list that is not valid yet", []string{later, rootList}, []issued{root}, []issued{good}, true},
	} {
		for _, kind := range []string{"", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"} {
			for _, version := range []string{"VersionTLS12", "VersionTLS13"} {
				t.Run(fmt.Sprintf("%s %s %s", test.name, kind, version), func(t *testing.T) {
					options := &dynamic.TLSOptions{
						MaxVersion: version, ClientAuth: dynamic.ClientAuth{ClientAuthType: kind, CRLFiles: test.crls},
					}
					for _, authority := range test.authority {
						options.ClientAuth.CAFiles = append(options.ClientAuth.CAFiles, string(authority.cert))
					}
					server := newOptions(t, options, newSet(t, "a.example.com"), nil)
					_, err := shake(t, server.Config(), presenting(t, test.chain...))
					if (err == nil) != test.acceptable {
						t.Errorf("error %v", err)
					}
				})
			}
		}
	}
}

func TestClientWithoutCertificateIsNotAskedForRevocation(t *testing.T) {
	root := newSigner(t, "root", nil)
	server := newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		ClientAuthType: "VerifyClientCertIfGiven", CAFiles: []string{string(root.cert)},
		CRLFiles: []string{armoured(root.revoke(t, nil))},
	}}, newSet(t, "a.example.com"), nil)
	if _, err := shake(t, server.Config(), blind("a.example.com")); err != nil {
		t.Error(err)
	}
}

func TestSessionOfARevokedClientIsNotResumed(t *testing.T) {
	root := newSigner(t, "root", nil)
	client, other := root.issueClient(t), root.issueClient(t)
	file := filepath.Join(t.TempDir(), "clients.crl")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			tickets, certificates := certificate.NewTickets(), newSet(t, "a.example.com")
			load := func(revoked ...issued) *certificate.Options {
				if err := os.WriteFile(file, root.revoke(t, nil, revoked...), 0o600); err != nil {
					t.Fatal(err)
				}
				return newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
					CAFiles: []string{string(root.cert)}, CRLFiles: []string{file},
				}}, certificates, tickets)
			}
			config := presenting(t, client)
			config.MaxVersion, config.ClientSessionCache = version, tls.NewLRUClientSessionCache(1)
			connect := func(options *certificate.Options) (bool, error) {
				state, err := shake(t, options.Config(), config)
				return state.DidResume, err
			}
			if _, err := connect(load()); err != nil {
				t.Fatal(err)
			}
			if resumed, err := connect(load(other)); err != nil || !resumed {
				t.Errorf("a list that does not name the client: resumed %t, error %v", resumed, err)
			}
			if _, err := connect(load(client)); err == nil {
				t.Error("a revoked client was accepted")
			}
			if _, err := connect(load().On("websecure")); err != nil {
				t.Errorf("after the revocation was lifted: %v", err)
			}
			if _, err := connect(load(client).On("websecure")); err == nil {
				t.Error("a revoked client was accepted on an entrypoint")
			}
		})
	}
}

func TestOpenConnectionsOfRevokedClientsAreNotAccepted(t *testing.T) {
	root := newSigner(t, "root", nil)
	client := root.issueClient(t)
	load := func(revoked ...issued) *certificate.Options {
		return newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
			CAFiles: []string{string(root.cert)}, CRLFiles: []string{armoured(root.revoke(t, nil, revoked...))},
		}}, newSet(t, "a.example.com"), nil)
	}
	options := load()
	connection := options.Connection("a.example.com")
	state := &tls.ConnectionState{
		PeerCertificates: []*x509.Certificate{client.leaf},
		VerifiedChains:   [][]*x509.Certificate{{client.leaf, root.leaf}},
	}
	if !options.Accepts(&connection, state) || !load().Accepts(&connection, state) {
		t.Error("a client that is not revoked is not accepted")
	}
	if load(client).Accepts(&connection, state) || load().Accepts(&connection, nil) || load().Accepts(nil, state) {
		t.Error("a client that is revoked or unknown is accepted")
	}
}

func TestCRLsThatCannotBeUsedAreErrors(t *testing.T) {
	root := newSigner(t, "root", nil)
	client, stranger := root.issueClient(t), newSigner(t, "root", nil)
	plain := newAuthority(t, "plain")
	good := armoured(root.revoke(t, nil, client))
	extension := func(critical bool, id ...int) string {
		return armoured(root.revoke(t, func(l *x509.RevocationList) {
			l.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier(id), Critical: critical, Value: []byte{5, 0}}}
		}))
	}
	entry := func(critical bool, id ...int) string {
		return armoured(root.revoke(t, func(l *x509.RevocationList) {
			l.RevokedCertificateEntries[0].ExtraExtensions = []pkix.Extension{
				{Id: asn1.ObjectIdentifier(id), Critical: critical, Value: []byte{5, 0}},
			}
		}, client))
	}
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	forged := root.revoke(t, nil, client)
	forged[len(forged)-1] ^= 1
	for name, test := range map[string]struct {
		crls []string
		want string
	}{
		"missing":                 {[]string{good, filepath.Join(dir, "none")}, "clientAuth.crlFiles[1]: open " + dir + "/none"},
		"empty":                   {[]string{write("empty", nil)}, "clientAuth.crlFiles[0]: " + dir + "/empty: no CRL found"},
		"other text":              {[]string{write("text", []byte("hello"))}, "CRL 1: neither PEM nor DER"},
		"certificate":             {[]string{string(root.cert)}, "inline PEM: no CRL found"},
		"certificate in DER":      {[]string{write("der", root.leaf.Raw)}, dir + "/der: CRL 1: "},
		"damaged armour":          {[]string{good + strings.Replace(good, "\n", "\n!", 1)}, "1 of 2 CRLs are damaged"},
		"cut off":                 {[]string{write("cut", root.revoke(t, nil)[:100])}, dir + "/cut: CRL 1: "},
		"delta":                   {[]string{extension(true, 2, 5, 29, 27)}, `CRL 1: of "CN=root": it is a delta CRL`},
		"partial":                 {[]string{extension(true, 2, 5, 29, 28)}, "it is indirect or covers a part"},
		"unknown extension":       {[]string{extension(true, 1, 2, 3)}, "unknown critical extension 1.2.3"},
		"indirect entry":          {[]string{entry(true, 2, 5, 29, 29)}, "the list is indirect"},
		"unknown entry extension": {[]string{entry(true, 1, 2, 3)}, "unknown critical extension 1.2.3"},
		"forged":                  {[]string{write("forged", forged)}, `the signature of the CRL of "CN=root"`},
		"of another key":          {[]string{armoured(stranger.revoke(t, nil))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := certificate.NewOptions("strict@file", &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
				CAFiles: []string{string(root.cert)}, CRLFiles: test.crls,
			}}, newSet(t, "a"), nil, nil)
			if test.want == "" && err == nil {
				return // It is of an authority that a client may present.
			}
			if err == nil || !strings.HasPrefix(err.Error(), `tls options "strict@file": `) ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	for _, crl := range []string{extension(false, 1, 2, 3), entry(false, 1, 2, 3)} {
		newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
			CAFiles: []string{string(root.cert)}, CRLFiles: []string{crl},
		}}, newSet(t, "a"), nil)
	}
	for _, auth := range []dynamic.ClientAuth{
		{CRLFiles: []string{good}},
		{CRLFiles: []string{good}, ClientAuthType: "RequireAnyClientCert", CAFiles: []string{string(root.cert)}},
		{CRLFiles: []string{good}, ClientAuthType: "NoClientCert", CAFiles: []string{string(plain.cert)}},
	} {
		_, err := certificate.NewOptions("strict@file", &dynamic.TLSOptions{ClientAuth: auth}, newSet(t, "a"), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "clientAuth.crlFiles: client certificates are not verified") {
			t.Errorf("%+v: error %v", auth, err)
		}
	}
}

func TestExpiredCRLShutsClientsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := newSigner(t, "root", nil)
		client := issue(t, x509.Certificate{
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: time.Now().Add(1000 * time.Hour),
		}, newECDSA(t), &root)
		options := newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
			CAFiles: []string{string(root.cert)}, CRLFiles: []string{armoured(root.revoke(t, nil))},
		}}, newSet(t, "a.example.com"), nil)
		open := options.Connection("a.example.com")
		state := &tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{client.leaf},
			VerifiedChains:   [][]*x509.Certificate{{client.leaf, root.leaf}},
		}
		check := func(accepted bool, late string) {
			t.Helper()
			if options.Accepts(&open, state) != accepted {
				t.Errorf("on an open connection the client is not accepted: %t", accepted)
			}
			if err := shakePiped(t, options.Config(), presenting(t, client)); (err == nil) != accepted {
				t.Errorf("error %v", err)
			}
			if got := strings.Join(options.LateWarnings(time.Now()), "; "); late == "" && got != "" ||
				!strings.Contains(got, late) {
				t.Errorf("late warnings %q, want %q", got, late)
			}
		}
		if warnings := options.Warnings(); len(warnings) > 0 {
			t.Errorf("warnings %q", warnings)
		}
		check(true, "")
		pass(17*time.Hour + 59*time.Minute)
		check(true, "")
		pass(2 * time.Minute)
		check(true, `the CRL of "CN=root" expires on `)
		pass(2 * time.Hour)
		check(false, `the CRL of "CN=root" has expired on `)
		if lists := options.CRLs(); len(lists) != 1 || lists[0].Issuer != "CN=root" || lists[0].Options != "test@file" {
			t.Errorf("lists %+v", lists)
		}
	})
}

// shakePiped makes a handshake over a pipe, for bubbles of testing/synctest, and returns the error of the server.
func shakePiped(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan error)
	go func() {
		secure := tls.Server(far, server)
		err := secure.HandshakeContext(context.WithoutCancel(t.Context()))
		_ = far.Close()
		ended <- err
	}()
	_, _ = io.Copy(io.Discard, tls.Client(near, client))
	_ = near.Close()
	err := <-ended
	var refused *certificate.RevocationError
	if err != nil && !errors.As(err, &refused) {
		t.Errorf("another error: %v", err)
	}
	return err
}

func TestAuthorityWithoutCRLHasAWarning(t *testing.T) {
	root, other := newSigner(t, "root", nil), newSigner(t, "other", nil)
	warnings := newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		CAFiles: []string{string(root.cert), string(other.cert)}, CRLFiles: []string{armoured(root.revoke(t, nil))},
	}}, newSet(t, "a"), nil).Warnings()
	if len(warnings) != 1 || !strings.Contains(warnings[0], `no valid CRL of "CN=other"`) {
		t.Errorf("warnings %q", warnings)
	}
}

// large returns a CRL with 100,000 entries as a file.
func large(tb testing.TB, root issued) string {
	tb.Helper()
	base := new(big.Int).Lsh(big.NewInt(1), 150)
	der := root.revoke(tb, func(l *x509.RevocationList) {
		for i := range int64(100_000) {
			l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{
				SerialNumber: new(big.Int).Add(base, big.NewInt(i)), RevocationTime: time.Now(), ReasonCode: 1,
			})
		}
	})
	path := filepath.Join(tb.TempDir(), "large.crl")
	if err := os.WriteFile(path, der, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestLargeCRL(t *testing.T) {
	root := newSigner(t, "root", nil)
	client := root.issueClient(t)
	lists := newOptions(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		CAFiles: []string{string(root.cert)}, CRLFiles: []string{large(t, root)},
	}}, newSet(t, "a.example.com"), nil)
	if _, err := shake(t, lists.Config(), presenting(t, client)); err != nil {
		t.Error(err)
	}
	if got := lists.CRLs(); len(got) != 1 || got[0].Revoked != 100_000 {
		t.Errorf("lists %+v", got)
	}
}

func BenchmarkLoadCRLOf100000(b *testing.B) {
	t := new(testing.T)
	root := newSigner(t, "root", nil)
	options := &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		CAFiles: []string{string(root.cert)}, CRLFiles: []string{large(b, root)},
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := certificate.NewOptions("a", options, nil, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckRevocation(b *testing.B) {
	t := new(testing.T)
	root := newSigner(t, "root", nil)
	client := root.issueClient(t)
	options, err := certificate.NewOptions("a", &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		CAFiles: []string{string(root.cert)}, CRLFiles: []string{large(b, root)},
	}}, nil, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	verify := options.Config().VerifyConnection
	state := tls.ConnectionState{
		PeerCertificates: []*x509.Certificate{client.leaf},
		VerifiedChains:   [][]*x509.Certificate{{client.leaf, root.leaf}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := verify(state); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCRL(f *testing.F) {
	t := new(testing.T)
	root := newSigner(t, "root", nil)
	der := root.revoke(f, nil, root)
	f.Add(der)
	f.Add(slices.Concat(der, der))
	f.Add([]byte(armoured(der)))
	f.Add([]byte(armoured(der) + "-----BEGIN X509 CRL-----\n"))
	f.Add([]byte{0x30, 0x80})
	path := filepath.Join(f.TempDir(), "fuzz.crl")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		options, err := certificate.NewOptions("a", &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
			CAFiles: []string{string(root.cert)}, CRLFiles: []string{path},
		}}, nil, nil, nil)
		if (err == nil) != (options != nil && len(options.CRLs()) > 0) {
			t.Errorf("error %v without lists", err)
		}
	})
}
