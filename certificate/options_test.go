package certificate_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

func newSet(t *testing.T, names ...string) func() *certificate.Set {
	t.Helper()
	set, problems := certificate.NewSet([]certificate.Entry{{Certificate: issueFor(t, names...).inline()}}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return func() *certificate.Set { return set }
}

func newOptions(
	t *testing.T, options *dynamic.TLSOptions, certificates func() *certificate.Set, tickets *certificate.Tickets,
) *certificate.Options {
	t.Helper()
	o, err := certificate.NewOptions("test@file", options, certificates, nil, tickets)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNewOptionsNamesWhatIsWrong(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	authority := newAuthority(t, "authority")
	for _, test := range []struct {
		name    string
		options dynamic.TLSOptions
		want    string
	}{
		{
			"version",
			dynamic.TLSOptions{MinVersion: "VersionTLS1.2"},
			`minVersion: unknown value "VersionTLS1.2", did you mean "VersionTLS12"?`,
		},
		{
			"far from any",
			dynamic.TLSOptions{MaxVersion: "ssl3"},
			`maxVersion: unknown value "ssl3", expected one of VersionTLS10,`,
		},
		{
			"crossed",
			dynamic.TLSOptions{MinVersion: "VersionTLS13", MaxVersion: "VersionTLS12"},
			"maxVersion TLS 1.2 is below minVersion TLS 1.3",
		},
		{
			"crossed with the default",
			dynamic.TLSOptions{MaxVersion: "VersionTLS11"},
			"maxVersion TLS 1.1 is below minVersion TLS 1.2",
		},
		{
			"cipher",
			dynamic.TLSOptions{CipherSuites: []string{"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265"}},
			`cipherSuites[1]: unknown value "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265", did you mean ` +
				`"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"?`,
		},
		{
			"curve",
			dynamic.TLSOptions{CurvePreferences: []string{"X25518"}},
			`curvePreferences[0]: unknown value "X25518", did you mean "X25519"?`,
		},
		{
			"client auth",
			dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequireClientCert"}},
			"clientAuth.clientAuthType: unknown value",
		},
		{
			"no authorities",
			dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequireAndVerifyClientCert"}},
			"needs clientAuth.caFiles",
		},
		{
			"missing authority",
			dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{CAFiles: []string{"/nowhere/ca.pem"}}},
			"clientAuth.caFiles[0]: open /nowhere/ca.pem",
		},
		{"empty authority", dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{CAFiles: []string{
			string(authority.cert),
			empty,
		}}}, "clientAuth.caFiles[1]: " + empty + ": no certificate found"},
		{"long protocol", dynamic.TLSOptions{ALPNProtocols: []string{"h2", strings.Repeat("x", 256)}}, "alpnProtocols[1]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := certificate.NewOptions("strict@file", &test.options, newSet(t, "a"), nil, nil)
			if err == nil || !strings.HasPrefix(err.Error(), `tls options "strict@file": `) || !strings.Contains(err.Error(),
				test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestOptionsWithoutPostQuantumKeyExchangeHaveAWarning(t *testing.T) {
	for _, test := range []struct {
		options dynamic.TLSOptions
		want    bool
	}{
		{dynamic.TLSOptions{}, false},
		{dynamic.TLSOptions{CurvePreferences: []string{"X25519", "CurveP256"}}, true},
		{dynamic.TLSOptions{CurvePreferences: []string{"X25519", "X25519MLKEM768"}}, false},
		{dynamic.TLSOptions{CurvePreferences: []string{"SecP256r1MLKEM768"}}, false},
		{dynamic.TLSOptions{CurvePreferences: []string{"secp384r1mlkem1024"}}, false},
		{dynamic.TLSOptions{CurvePreferences: []string{"X25519"}, MaxVersion: "VersionTLS12"}, false},
		{dynamic.TLSOptions{CurvePreferences: []string{"X25519"}, MaxVersion: "VersionTLS13"}, true},
	} {
		warnings := newOptions(t, &test.options, newSet(t, "a.example.com"), nil).Warnings()
		if got := len(warnings) > 0; got != test.want || got && !strings.Contains(warnings[0], "post-quantum") {
			t.Errorf("%+v: warnings %q", test.options, warnings)
		}
	}
}

func TestOptionsInHandshakes(t *testing.T) {
	certificates := newSet(t, "a.example.com")
	for _, test := range []struct {
		name    string
		options *dynamic.TLSOptions
		change  func(client *tls.Config)
		refused bool
		check   func(state tls.ConnectionState) bool
	}{
		{name: "default is 1.3 with h2", change: func(c *tls.Config) {
			c.NextProtos = []string{"h2"}
		}, check: func(s tls.ConnectionState) bool {
			return s.Version == tls.VersionTLS13 && s.NegotiatedProtocol == "h2"
		}},
		{name: "default refuses 1.1", change: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11 }, refused: true},
		{
			name: "minVersion", options: &dynamic.TLSOptions{MinVersion: "VersionTLS13"},
			change: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, refused: true,
		},
		{
			name: "maxVersion", options: &dynamic.TLSOptions{MaxVersion: "VersionTLS12"},
			check: func(s tls.ConnectionState) bool {
				return s.Version == tls.VersionTLS12
			},
		},
		{
			name: "cipherSuites",
			options: &dynamic.TLSOptions{
				MaxVersion:   "VersionTLS12",
				CipherSuites: []string{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"},
			},
			check: func(s tls.ConnectionState) bool {
				return s.CipherSuite == tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
			},
		},
		{
			name: "hybrid curve", options: &dynamic.TLSOptions{CurvePreferences: []string{"x25519mlkem768"}},
			check: func(s tls.ConnectionState) bool {
				return s.CurveID == tls.X25519MLKEM768
			},
		},
		{
			name: "curve that the client lacks", options: &dynamic.TLSOptions{CurvePreferences: []string{"CurveP521"}},
			change: func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} }, refused: true,
		},
		{
			name: "alpn", options: &dynamic.TLSOptions{ALPNProtocols: []string{"http/1.1"}},
			change: func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} },
			check:  func(s tls.ConnectionState) bool { return s.NegotiatedProtocol == "http/1.1" },
		},
		{
			name: "alpn without overlap", options: &dynamic.TLSOptions{ALPNProtocols: []string{"http/1.1"}},
			change: func(c *tls.Config) { c.NextProtos = []string{"h2"} }, refused: true,
		},
		{name: "sniStrict with the name", options: &dynamic.TLSOptions{SNIStrict: true}},
		{
			name: "sniStrict with another name", options: &dynamic.TLSOptions{SNIStrict: true},
			change: func(c *tls.Config) { c.ServerName = "b.example.com" }, refused: true,
		},
		{
			name: "sniStrict without a name", options: &dynamic.TLSOptions{SNIStrict: true},
			change: func(c *tls.Config) { c.ServerName = "" }, refused: true,
		},
		{name: "another name", change: func(c *tls.Config) {
			c.ServerName = "b.example.com"
		}, check: func(s tls.ConnectionState) bool {
			return s.PeerCertificates[0].Subject.CommonName == certificate.SelfSignedName
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := blind("a.example.com")
			if test.change != nil {
				test.change(client)
			}
			state, err := shake(t, newOptions(t, test.options, certificates, certificate.NewTickets()).Config(), client)
			if refused := err != nil; refused != test.refused {
				t.Fatalf("error %v", err)
			}
			if test.check != nil && !test.check(state) {
				t.Errorf("state %+v", state)
			}
		})
	}
}

func TestClientCertificates(t *testing.T) {
	certificates := newSet(t, "a.example.com")
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	trusted, stranger := ours.issueClient(t), theirs.issueClient(t)
	for _, test := range []struct {
		kind     string
		cas      []string
		accepted [3]bool // nothing, one that we trust, one that we do not
	}{
		{"", nil, [3]bool{true, true, true}},
		{"NoClientCert", []string{string(ours.cert)}, [3]bool{true, true, true}},
		{"RequestClientCert", nil, [3]bool{true, true, true}},
		{"RequireAnyClientCert", nil, [3]bool{false, true, true}},
		{"VerifyClientCertIfGiven", []string{string(ours.cert)}, [3]bool{true, true, false}},
		{"RequireAndVerifyClientCert", []string{string(ours.cert)}, [3]bool{false, true, false}},
		{"", []string{string(ours.cert)}, [3]bool{false, true, false}},
		{"", []string{string(theirs.cert), string(ours.cert)}, [3]bool{false, true, true}},
	} {
		options := newOptions(t, &dynamic.TLSOptions{
			ClientAuth: dynamic.ClientAuth{ClientAuthType: test.kind, CAFiles: test.cas},
		}, certificates, nil)
		for i, certificate := range []*issued{nil, &trusted, &stranger} {
			client := blind("a.example.com")
			client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if certificate == nil {
					return new(tls.Certificate), nil
				}
				pair := certificate.pair(t)
				return &pair, nil
			}
			_, err := shake(t, options.Config(), client)
			if got := err == nil; got != test.accepted[i] {
				t.Errorf("%q with %d authorities, client %d: error %v", test.kind, len(test.cas), i, err)
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	certificates := newSet(t, "a.example.com")
	one, two := newAuthority(t, "one"), newAuthority(t, "two")
	file := one.write(t).CertFile
	auth := func(files ...string) *dynamic.TLSOptions {
		return &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{CAFiles: files}}
	}
	fingerprint := func(options *dynamic.TLSOptions) uint64 {
		return newOptions(t, options, certificates, nil).Fingerprint
	}
	defaults := &dynamic.TLSOptions{}
	defaults.SetDefaults()
	if fingerprint(nil) != fingerprint(defaults) {
		t.Error("no options and the defaults differ")
	}
	if fingerprint(auth(file)) != fingerprint(auth(string(one.cert))) {
		t.Error("one authority as a file and inline differ")
	}
	before := fingerprint(auth(file))
	if err := os.WriteFile(file, two.cert, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := []uint64{
		before, fingerprint(auth(file)), fingerprint(&dynamic.TLSOptions{}), fingerprint(nil),
		fingerprint(&dynamic.TLSOptions{MinVersion: "VersionTLS13"}), fingerprint(&dynamic.TLSOptions{SNIStrict: true}),
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 6 {
		t.Errorf("different options have equal fingerprints: %v", seen)
	}
}
