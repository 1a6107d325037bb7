package acme_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
)

// A certificate of a private authority may have a name that no public one issues for, and is shown by it.
func TestStoredNamesThatNoAuthorityIssuesFor(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"},
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(storage.Certificate{
		Main:  "localhost",
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain})),
		Key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := storage.CertificateID([]string{"localhost"})
	values := map[storage.Key][]byte{{Kind: storage.KindCertificate, Resolver: "le", ID: id}: value}
	all := acme.Stored(values, map[string]*static.ACME{"le": {}})
	if len(all) != 1 || len(all[0].Certificates) != 1 ||
		!slices.Equal(all[0].Certificates[0].Names, []string{"localhost"}) {
		t.Errorf("%+v", all)
	}
}
