// Package authority gives the webhook its certificates: leaves that are signed by an authority of its own.
//
// The authorities are in a Secret that all replicas share; each replica signs leaves of its own, which never leave its
// memory. Parse and Encode translate the Secret, NewPlan says what is due at a time, and a Keeper carries it out: it
// creates the Secret, rotates authorities, signs and renews leaves, and says which bundle clients must trust. Files has
// certificates that others renew, instead.
//
// Two rules keep clients connected. A new authority is in the bundle before a leaf of it is presented, and an old one
// stays in it until no leaf of it lives.
package authority

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"
)

const (
	// Lifetime is how long an authority is valid; it is replaced at half of it.
	Lifetime = 365 * 24 * time.Hour
	// LeafLifetime is how long a leaf is valid; it is renewed at half of it.
	LeafLifetime = 7 * 24 * time.Hour
	// backdate is how much earlier than now certificates begin, for clients whose clock is slow.
	backdate = time.Hour
)

// The keys of the Secret: certificates of all authorities, and the private keys of those that may sign, as PEM.
const (
	CertificatesKey = "ca.crt"
	KeysKey         = "ca.key"
)

// The types of PEM blocks.
const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// Authority is a certificate that leaves are verified by. It is immutable.
type Authority struct {
	Certificate *x509.Certificate
	// Key is nil for an authority that is trusted and signs no more.
	Key crypto.Signer
}

// created returns when the authority was made.
func (a Authority) created() time.Time { return a.Certificate.NotBefore.Add(backdate) }

// New returns a new authority.
func New(now time.Time) (Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Authority{}, fmt.Errorf("key of an authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return Authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// The serial number in the name keeps two authorities apart for clients that look for an issuer by its name.
		Subject:   pkix.Name{CommonName: fmt.Sprintf("sluice-injector-ca %x", serial.Bytes()[:4])},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(Lifetime - backdate),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Authority{}, fmt.Errorf("certificate of an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return Authority{}, fmt.Errorf("certificate of an authority: %w", err)
	}
	return Authority{Certificate: certificate, Key: key}, nil
}

// newSerial returns a random serial number of 127 bits, the first of which is set.
func newSerial() (*big.Int, error) {
	first := new(big.Int).Lsh(big.NewInt(1), 126)
	serial, err := rand.Int(rand.Reader, first)
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	return serial.Add(serial, first), nil
}

// Parse returns the authorities of a Secret, the oldest first, and what is wrong with the rest. Secrets without the two
// keys have none, which is not wrong.
func Parse(data map[string][]byte) ([]Authority, []error) {
	var wrong []error
	keys, faults := parseKeys(data[KeysKey])
	wrong = append(wrong, faults...)
	var all []Authority
	rest := data[CertificatesKey]
	for block, next := pem.Decode(rest); block != nil; block, next = pem.Decode(rest) {
		rest = next
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", CertificatesKey, err))
			continue
		case !certificate.IsCA:
			wrong = append(wrong, fmt.Errorf("%s: the certificate %q is not an authority", CertificatesKey,
				certificate.Subject.CommonName))
			continue
		case contains(all, certificate):
			continue
		}
		one := Authority{Certificate: certificate}
		for i, key := range keys {
			if same(certificate.PublicKey, key.Public()) {
				one.Key, keys = key, slices.Delete(keys, i, i+1)
				break
			}
		}
		all = append(all, one)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		wrong = append(wrong, fmt.Errorf("%s: %d bytes are not PEM", CertificatesKey, len(rest)))
	}
	if len(keys) > 0 {
		wrong = append(wrong, fmt.Errorf("%s: %d keys belong to no certificate", KeysKey, len(keys)))
	}
	sortByAge(all)
	return all, wrong
}

func parseKeys(text []byte) (keys []crypto.Signer, wrong []error) {
	rest := text
	for block, next := pem.Decode(rest); block != nil; block, next = pem.Decode(rest) {
		rest = next
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, signs := parsed.(crypto.Signer)
		if err != nil || !signs {
			wrong = append(wrong, fmt.Errorf("%s: a key does not parse", KeysKey)) // The reason may show a part of it.
			continue
		}
		keys = append(keys, key)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		wrong = append(wrong, fmt.Errorf("%s: %d bytes are not PEM", KeysKey, len(rest)))
	}
	return keys, wrong
}

// Encode returns the two keys of a Secret.
func Encode(all []Authority) (map[string][]byte, error) {
	var keys bytes.Buffer
	for _, one := range all {
		if one.Key == nil {
			continue
		}
		der, err := x509.MarshalPKCS8PrivateKey(one.Key)
		if err != nil {
			return nil, fmt.Errorf("key of an authority: %w", err)
		}
		if err := pem.Encode(&keys, &pem.Block{Type: blockKey, Bytes: der}); err != nil {
			return nil, err
		}
	}
	return map[string][]byte{CertificatesKey: Bundle(all), KeysKey: keys.Bytes()}, nil
}

// Bundle returns the certificates of authorities as PEM, the oldest first.
func Bundle(all []Authority) []byte {
	var text bytes.Buffer
	for _, one := range all {
		_ = pem.Encode(&text, &pem.Block{Type: blockCertificate, Bytes: one.Certificate.Raw}) // A buffer never fails.
	}
	return text.Bytes()
}

// bundleHas reports whether a bundle contains a certificate.
func bundleHas(bundle []byte, certificate *x509.Certificate) bool {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if bytes.Equal(block.Bytes, certificate.Raw) {
			return true
		}
	}
	return false
}

func contains(all []Authority, certificate *x509.Certificate) bool {
	return slices.ContainsFunc(all, func(one Authority) bool { return one.Certificate.Equal(certificate) })
}

// same reports whether two public keys are equal.
func same(a, b crypto.PublicKey) bool {
	key, ok := a.(publicKey)
	return ok && key.Equal(b)
}

// publicKey is what all public keys of the standard library can do beside crypto.PublicKey.
type publicKey interface {
	Equal(other crypto.PublicKey) bool
}

// sortByAge puts the oldest first, so that all replicas have the same order.
func sortByAge(all []Authority) {
	slices.SortFunc(all, func(a, b Authority) int {
		return cmp.Or(a.Certificate.NotBefore.Compare(b.Certificate.NotBefore),
			bytes.Compare(a.Certificate.Raw, b.Certificate.Raw))
	})
}
