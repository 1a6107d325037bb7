package router_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
)

// authorityWithCRL returns an authority and an empty CRL of it that is valid for 20 hours, in PEM.
func authorityWithCRL(t *testing.T) (authority, list string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clients"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCRLSign | x509.KeyUsageCertSign, NotBefore: time.Now(), NotAfter: time.Now().AddDate(1, 0, 0),
		SubjectKeyId: []byte{1},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	crl, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(20 * time.Hour),
	}, template, key)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return encode("CERTIFICATE", der), encode("X509 CRL", crl)
}

func TestVerdictsOnCRLsComeWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority, list := authorityWithCRL(t)
		ref, secured := optionsRef("members@file"), newSecured()
		apply := func(lists ...string) []dynamic.Verdict {
			verdicts, _ := secured.apply(&dynamic.Configuration{TLS: &dynamic.TLSConfiguration{
				Options: immutable.Of(map[string]*dynamic.TLSOptions{ref.Name: {
					ClientAuth: dynamic.ClientAuth{CAFiles: []string{authority}, CRLFiles: lists},
				}}),
			}}, []dynamic.Ref{ref})
			return verdicts
		}
		apply(list)
		verdicts := router.NewCRLVerdicts(secured.compiler)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			verdicts.Run(ctx)
		}()
		defer func() {
			stop()
			<-ended
		}()
		if found := verdicts.Verdicts(); len(found) > 0 || len(secured.compiler.CRLs()) != 1 {
			t.Errorf("verdicts %+v, lists %+v", found, secured.compiler.CRLs())
		}
		start := time.Now()
		for _, step := range []struct {
			from, until time.Duration
			want        string
		}{
			{18 * time.Hour, 18*time.Hour + time.Minute, `the CRL of "CN=clients" expires on `},
			{20 * time.Hour, 20*time.Hour + time.Minute, `the CRL of "CN=clients" has expired on `},
		} {
			<-verdicts.Changed()
			if at := time.Since(start); at < step.from || at > step.until {
				t.Errorf("a change after %s, want one from %s on", at, step.from)
			}
			found := verdicts.Verdicts()
			if len(found) != 1 || found[0].Ref != ref || found[0].Status != dynamic.Degraded ||
				!strings.Contains(found[0].Reason, step.want) {
				t.Errorf("verdicts %+v, want %q", found, step.want)
			}
		}
		// A list of another authority is an error of the compilation.
		_, fresh := authorityWithCRL(t)
		compiled := apply(list, fresh)
		if len(compiled) != 1 || compiled[0].Ref != ref || compiled[0].Status != dynamic.Quarantined ||
			!strings.Contains(compiled[0].Reason, "clientAuth.crlFiles") {
			t.Errorf("verdicts of the compilation: %+v", compiled)
		}
		<-verdicts.Changed()
		if found := verdicts.Verdicts(); len(found) > 0 {
			t.Errorf("verdicts %+v on options that are not used", found)
		}
	})
}
