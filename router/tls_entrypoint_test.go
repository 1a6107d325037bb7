package router_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
)

// listeners are two entrypoints that share a configuration.
type listeners struct {
	t        *testing.T
	target   *router.ActiveTable
	compiler *router.Compiler
	tls      *dynamic.TLSConfiguration
	compiled router.Compiled
	// refused are verdicts of the provider.
	refused []dynamic.Verdict
}

func newListeners(t *testing.T) *listeners {
	entryPoints := []router.EntryPoint{
		{Name: "outer", Default: true, TLS: &dynamic.RouterTLS{}}, {Name: "inner", Default: true, TLS: &dynamic.RouterTLS{}},
	}
	l := &listeners{t: t, target: router.NewActiveTable(entryPoints), tls: &dynamic.TLSConfiguration{}}
	l.compiler = router.NewCompiler(router.Options{
		EntryPoints: entryPoints, Tickets: certificate.NewTickets(),
		Internal: map[string]http.Handler{"echo@internal": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
	}, l.target)
	return l
}

// apply compiles the TLS section with two routers, of which the second names the options special.
func (l *listeners) apply(changed ...dynamic.Ref) {
	l.t.Helper()
	l.compiled = l.compiler.Compile(router.Input{Final: true, Changed: changed, Configuration: &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{Routers: immutable.Of(map[string]*dynamic.Router{
			"a@file": {Rule: "Host(`a.test`)", Service: "echo@internal"},
			"s@file": {Rule: "Host(`s.test`)", Service: "echo@internal", TLS: &dynamic.RouterTLS{Options: "special"}},
		})}, TLS: l.tls, Verdicts: l.refused,
	}})
	l.compiled.Activate(1)
}

func routers() []dynamic.Ref {
	return []dynamic.Ref{{Kind: dynamic.KindRouter, Name: "a@file"}, {Kind: dynamic.KindRouter, Name: "s@file"}}
}

func optionsRef(name string) dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}
}

func certificateRef(name string) dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindCertificate, Name: name}
}

// dial does a handshake with a listener of an entrypoint. It returns the common name of the certificate that the
// listener presents; a client that speaks at most TLS 1.2 may be refused.
func (l *listeners) dial(entryPoint, serverName string, maxVersion uint16) (commonName string, err error) {
	l.t.Helper()
	plain, err := (&net.ListenConfig{}).Listen(l.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	listener := tls.NewListener(plain, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			options, ok := l.target.TLS(entryPoint).SelectTLS(hello.ServerName)
			if !ok {
				return nil, errors.New("no options")
			}
			return options.Config(), nil
		},
	})
	served := make(chan struct{})
	go func() {
		defer close(served)
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		if secure, ok := connection.(*tls.Conn); ok {
			_ = secure.HandshakeContext(context.Background()) // The client reports what is wrong.
		}
		_ = connection.Close()
	}()
	dialer := &tls.Dialer{Config: &tls.Config{
		ServerName: serverName, MaxVersion: maxVersion, InsecureSkipVerify: true, //nolint:gosec // The name is compared.
	}}
	connection, err := dialer.DialContext(l.t.Context(), "tcp", plain.Addr().String())
	<-served
	_ = listener.Close()
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	secure, _ := connection.(*tls.Conn)
	return secure.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// want demands the certificate of a handshake, or "" for a refused one.
func (l *listeners) want(entryPoint, serverName string, maxVersion uint16, want string) {
	l.t.Helper()
	if got, err := l.dial(entryPoint, serverName, maxVersion); got != want || (want == "") != (err != nil) {
		l.t.Errorf("%s on %s, up to %x: certificate %q, error %v; want %q",
			serverName, entryPoint, maxVersion, got, err, want)
	}
}

// wantVerdicts demands the verdicts, beside the one on hosts without a certificate.
func (l *listeners) wantVerdicts(want map[dynamic.Ref]string) {
	l.t.Helper()
	for _, verdict := range l.compiled.Verdicts {
		if verdict.Code == dynamic.CodeMissingCertificate {
			continue
		}
		if verdict.Ref.Kind == dynamic.KindRouter && verdict.Status != dynamic.Degraded {
			l.t.Errorf("the router serves on no entrypoint: %v", verdict)
		}
		if reason, ok := want[verdict.Ref]; !ok || !strings.Contains(verdict.String(), reason) {
			l.t.Errorf("verdict %v (%v) [%v]", verdict, verdict.Status, verdict.Code)
		}
		delete(want, verdict.Ref)
	}
	for ref, reason := range want {
		l.t.Errorf("no verdict on %v: %s", ref, reason)
	}
}

const tls12, tls13, default12 = tls.VersionTLS12, tls.VersionTLS13, "SLUICE DEFAULT CERT"

// issue returns a certificate with a common name for hosts.
func (l *listeners) issue(commonName string, entryPoints []string, hosts ...string) *dynamic.CertificateEntry {
	l.t.Helper()
	pair := issued(l.t, &x509.Certificate{Subject: pkix.Name{CommonName: commonName}, DNSNames: hosts})
	return &dynamic.CertificateEntry{Name: commonName + "@file", EntryPoints: entryPoints, Certificate: pair}
}

// issued returns a certificate of a template that is valid for an hour, with its key.
func issued(t *testing.T, template *x509.Certificate) dynamic.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(1), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{SerialNumber: big.NewInt(1)},
		key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return dynamic.Certificate{
		CertFile: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		KeyFile:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
}

// TestListenersWithTLSOfTheirOwn gives one host two certificates and two least versions, by entrypoint.
func TestListenersWithTLSOfTheirOwn(t *testing.T) {
	l := newListeners(t)
	shared, inner := l.issue("shared", nil, "a.test", "s.test"), l.issue("inner", []string{"inner"}, "a.test", "only.test")
	l.tls.Certificates = []*dynamic.CertificateEntry{shared, inner}
	special := &dynamic.TLSOptions{}
	l.tls.Options = immutable.Of(map[string]*dynamic.TLSOptions{
		"modern@file": {MinVersion: "VersionTLS13", EntryPoints: []string{"inner"}}, "special@file": special,
	})
	l.apply(append(routers(), optionsRef("modern@file"), optionsRef("special@file"), certificateRef("inner@file"))...)
	l.wantVerdicts(nil)
	l.want("outer", "a.test", tls12, "shared")
	l.want("inner", "a.test", tls13, "inner")
	l.want("inner", "a.test", tls12, "")
	l.want("inner", "s.test", tls12, "shared") // Its router has options of its own.
	l.want("inner", "only.test", tls13, "inner")
	l.want("outer", "only.test", tls13, default12)
	l.want("inner", "unknown.test", tls12, "")
	l.want("outer", "unknown.test", tls12, default12)

	// The certificate moves, and with it nothing else.
	moved := *inner
	moved.EntryPoints = []string{"outer"}
	l.tls = &dynamic.TLSConfiguration{Certificates: []*dynamic.CertificateEntry{shared, &moved}, Options: l.tls.Options}
	l.apply(certificateRef("inner@file"))
	l.want("outer", "a.test", tls12, "inner")
	l.want("inner", "a.test", tls13, "shared")
	l.want("inner", "a.test", tls12, "")

	// The options move.
	l.tls = &dynamic.TLSConfiguration{
		Certificates: l.tls.Certificates, Options: immutable.Of(map[string]*dynamic.TLSOptions{
			"modern@file": {MinVersion: "VersionTLS13", EntryPoints: []string{"outer"}}, "special@file": special,
		}),
	}
	l.apply(optionsRef("modern@file"))
	l.want("outer", "a.test", tls12, "")
	l.want("outer", "a.test", tls13, "inner")
	l.want("inner", "a.test", tls12, "shared")

	// Both are gone.
	l.tls = &dynamic.TLSConfiguration{Certificates: []*dynamic.CertificateEntry{shared}}
	l.apply(optionsRef("modern@file"), optionsRef("special@file"), certificateRef("inner@file"))
	l.want("outer", "a.test", tls12, "shared")
	l.want("inner", "a.test", tls12, "shared")
}

// TestDefaultOptionsOfListenersFailClosed proves that options which may keep clients out are not replaced by others.
func TestDefaultOptionsOfListenersFailClosed(t *testing.T) {
	inner := []string{"inner"}
	for name, test := range map[string]struct {
		options  map[string]*dynamic.TLSOptions
		verdicts map[dynamic.Ref]string
		outer    string // the certificate there
	}{
		"two of one entrypoint": {
			map[string]*dynamic.TLSOptions{"a@file": {EntryPoints: inner}, "b@file": {EntryPoints: inner}},
			map[dynamic.Ref]string{
				optionsRef("a@file"): `the options "b@file" are the default ones of entrypoint "inner" too`,
				optionsRef("b@file"): `the options "a@file" are the default ones of entrypoint "inner" too`,
				routers()[0]:         `not served on entrypoint "inner": tlsOptions "a@file"`,
			},
			"shared",
		},
		"options that cannot be used": {
			map[string]*dynamic.TLSOptions{"a@file": {EntryPoints: inner, MinVersion: "VersionTLS31"}},
			map[dynamic.Ref]string{
				optionsRef("a@file"): "minVersion", routers()[0]: `not served on entrypoint "inner"`,
			},
			"shared",
		},
		"an entrypoint that does not exist": {
			map[string]*dynamic.TLSOptions{"a@file": {EntryPoints: []string{"inner", "iner"}}},
			map[dynamic.Ref]string{
				optionsRef("a@file"): `entrypoint "iner" does not exist`, routers()[0]: `not served on entrypoint "inner"`,
			},
			"shared",
		},
	} {
		l := newListeners(t)
		l.tls.Certificates = []*dynamic.CertificateEntry{l.issue("shared", nil, "a.test")}
		special := &dynamic.TLSOptions{}
		l.tls.Options = immutable.Of(test.options).With("special@file", special)
		changed := append(routers(), optionsRef("special@file"))
		for name := range test.options {
			changed = append(changed, optionsRef(name))
		}
		l.apply(changed...)
		t.Log(name)
		l.wantVerdicts(test.verdicts)
		l.want("inner", "a.test", tls13, "")
		l.want("outer", "a.test", tls12, test.outer)
		l.want("inner", "s.test", tls12, default12)

		l.tls = &dynamic.TLSConfiguration{
			Certificates: l.tls.Certificates, Options: immutable.Of(map[string]*dynamic.TLSOptions{
				"a@file": {EntryPoints: inner}, "special@file": special,
			}),
		}
		l.apply(optionsRef("a@file"), optionsRef("b@file"))
		l.wantVerdicts(nil)
		l.want("inner", "a.test", tls12, "shared")
	}
}

// TestMisspeltEntryPointOfDefaultOptions gives an entrypoint no other options than those that misspell its name, until
// others name it.
func TestMisspeltEntryPointOfDefaultOptions(t *testing.T) {
	l := newListeners(t)
	special, misspelt := &dynamic.TLSOptions{}, &dynamic.TLSOptions{EntryPoints: []string{"iner", "unlike"}}
	l.tls.Options = immutable.Of(map[string]*dynamic.TLSOptions{"a@file": misspelt, "special@file": special})
	l.apply(append(routers(), optionsRef("a@file"), optionsRef("special@file"))...)
	l.wantVerdicts(map[dynamic.Ref]string{
		optionsRef("a@file"): `did you mean "inner"?; "inner" accepts no connections by its default options until then`,
		routers()[0]:         `not served on entrypoint "inner": tlsOptions "a@file"`,
	})
	l.want("inner", "a.test", tls13, "")
	l.want("inner", "s.test", tls12, default12)
	l.want("outer", "a.test", tls12, default12)

	l.tls = &dynamic.TLSConfiguration{
		Options: l.tls.Options.With("b@file", &dynamic.TLSOptions{EntryPoints: []string{"inner"}}),
	}
	l.apply(optionsRef("b@file"))
	l.wantVerdicts(map[dynamic.Ref]string{optionsRef("a@file"): `entrypoint "iner" does not exist`})
	l.want("inner", "a.test", tls12, default12)

	// The entrypoint that was meant has other options, and the next similar one was not meant.
	misspelt = &dynamic.TLSOptions{EntryPoints: []string{"onner"}}
	l.tls = &dynamic.TLSConfiguration{Options: l.tls.Options.With("a@file", misspelt)}
	l.apply(optionsRef("a@file"))
	l.want("inner", "a.test", tls12, default12)
	l.want("outer", "a.test", tls12, default12)
}

// TestEntryPointsThatMayHaveBeenMeant closes the entrypoints that a name of none stands for, and no others.
func TestEntryPointsThatMayHaveBeenMeant(t *testing.T) {
	for written, closed := range map[string][]string{
		"inner outer":     {"inner", "outer"}, // The separator is wrong.
		"inner:8443":      {"inner"},
		"inner2":          nil, // That may be an entrypoint of another instance.
		"inner uoter":     {"inner", "outer"},
		"INNER":           {"inner"},
		"other":           {"outer"},
		"something else!": nil,
	} {
		l := newListeners(t)
		l.tls.Options = immutable.Of(map[string]*dynamic.TLSOptions{
			"a@file": {EntryPoints: []string{written}}, "special@file": {},
		})
		l.apply(append(routers(), optionsRef("a@file"), optionsRef("special@file"))...)
		for _, entryPoint := range []string{"inner", "outer"} {
			answer := default12
			if slices.Contains(closed, entryPoint) {
				answer = ""
				l.want(entryPoint, "a.test", tls13, answer)
				continue
			}
			l.want(entryPoint, "a.test", tls12, answer)
		}
	}
}

func TestCertificatesOfListenersThatDoNotExist(t *testing.T) {
	l := newListeners(t)
	l.tls.Options = immutable.Of(map[string]*dynamic.TLSOptions{"special@file": {}})
	l.tls.Certificates = []*dynamic.CertificateEntry{
		l.issue("lost", []string{"iner"}, "a.test"), l.issue("half", []string{"iner", "inner"}, "half.test"),
	}
	l.apply(append(routers(), optionsRef("special@file"))...)
	l.wantVerdicts(map[dynamic.Ref]string{
		certificateRef("lost@file"): `none of its entrypoints exists: ["iner"]`,
		certificateRef("half@file"): `entrypoint "iner" does not exist`,
	})
	l.want("outer", "a.test", tls12, default12)
	l.want("inner", "a.test", tls12, default12)
	l.want("inner", "half.test", tls12, "half")
	l.want("outer", "half.test", tls12, default12)
}
