package router

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// writeAuthority writes the certificate of an authority into a file, and returns its path.
func writeAuthority(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Client certificates guard the API of a host for which every connection needs one. Without a host in the rule,
// connections that were accepted for other hosts reach the router too.
func TestClientCertificatesGuardTheAPIOfAHost(t *testing.T) {
	authority := writeAuthority(t)
	for _, test := range []struct {
		rule, demand string
		guarded      bool
	}{
		{"Host(`api.test`)", "RequireAndVerifyClientCert", true},
		{"Host(`api.test`)", "", true},
		{"Host(`api.test`)", "VerifyClientCertIfGiven", false},
		{"Host(`api.test`)", "RequireAnyClientCert", false},
		{"Host(`api.test`)", "RequestClientCert", false},
		{"Host(`api.test`)", "NoClientCert", false},
		{"PathPrefix(`/api`)", "RequireAndVerifyClientCert", false},
	} {
		b := apiBench(t)
		b.compiler.options.RequireAuth = true
		b.config.TLS.Options = b.config.TLS.Options.With(dynamic.DefaultTLSName, &dynamic.TLSOptions{
			ClientAuth: dynamic.ClientAuth{CAFiles: []string{authority}, ClientAuthType: test.demand},
		})
		router := b.router("r@file", test.rule, "api@internal")
		router.EntryPoints, router.TLS = []string{"websecure"}, &dynamic.RouterTLS{}
		b.all()
		onRouter := func(verdict dynamic.Verdict) bool { return verdict.Ref.Kind == dynamic.KindRouter }
		if guarded := !slices.ContainsFunc(b.compiled.Verdicts, onRouter); guarded != test.guarded {
			t.Errorf("%s with %s: verdicts %v", test.rule, test.demand, b.compiled.Verdicts)
		}
	}
}
