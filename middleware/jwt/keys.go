package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// How big an RSA key may be, in bits: smaller ones are weak (RFC 7518 section 3.3), bigger ones cost too much.
const (
	minRSA = 2048
	maxRSA = 8192
)

// maxTries is with how many keys one token is tried.
const maxTries = 10

// key is one key that tokens are verified with.
type key struct {
	id string // Empty for one that fits any token.
	// material returns an *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey or []byte. It is a function so that
	// nothing prints a secret.
	material   func() any
	algorithms []jose.SignatureAlgorithm
}

func newKey(id string, material any, algorithms []jose.SignatureAlgorithm) key {
	return key{id: id, material: func() any { return material }, algorithms: algorithms}
}

// keySet is keys that never change.
type keySet struct {
	keys []key
	// allowed are the algorithms that tokens may have.
	allowed []jose.SignatureAlgorithm
}

// newKeySet returns a set of those keys that one of the algorithms fits.
func newKeySet(keys []key, allowed []jose.SignatureAlgorithm) *keySet {
	set := &keySet{allowed: allowed}
	for _, key := range keys {
		key.algorithms = slices.DeleteFunc(slices.Clone(key.algorithms),
			func(a jose.SignatureAlgorithm) bool { return !slices.Contains(allowed, a) })
		if len(key.algorithms) > 0 {
			set.keys = append(set.keys, key)
		}
	}
	return set
}

// find returns the keys that may have signed a token, and whether one of them is what the token names. A token that
// names none may be signed by any, and a key without a name may have signed any token.
func (s *keySet) find(t token) (fitting []*key, named bool) {
	for i := range s.keys {
		key := &s.keys[i]
		if t.keyID != "" && key.id != "" && key.id != t.keyID {
			continue
		}
		named = named || t.keyID != "" && key.id == t.keyID
		if slices.Contains(key.algorithms, t.algorithm) {
			fitting = append(fitting, key)
		}
	}
	return fitting, named
}

// verify returns the payload of a token that one of the keys has signed.
func (s *keySet) verify(t token) ([]byte, *refusal) {
	if !slices.Contains(s.allowed, t.algorithm) {
		return nil, refuse(invalid, "the algorithm of the token is not taken")
	}
	fitting, named := s.find(t)
	kind := unknownKey
	if named {
		kind = invalid
	}
	switch {
	case len(fitting) > maxTries:
		return nil, refuse(invalid, "the token names no key, and there are too many to try")
	case len(fitting) == 0 && (named || t.keyID == ""):
		return nil, refuse(kind, "the algorithm of the token fits no key")
	case len(fitting) == 0:
		return nil, refuse(kind, "unknown key")
	}
	signed, err := jose.ParseSignedCompact(t.raw, s.allowed)
	if err != nil {
		return nil, refuse(invalid, "the token is malformed")
	}
	for _, key := range fitting {
		if payload, err := signed.Verify(key.material()); err == nil {
			return payload, nil
		}
	}
	return nil, refuse(kind, "the signature is wrong")
}

// fits returns the algorithms that a key can be used with (RFC 7518 section 3.1, RFC 8037 section 3.1). So a public
// key never is the secret of an HMAC. The error has a reason to ignore the key.
func fits(material any) ([]jose.SignatureAlgorithm, error) {
	switch k := material.(type) {
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		if bits < minRSA || bits > maxRSA {
			return nil, fmt.Errorf("it is RSA with %d bits, and %d to %d are taken", bits, minRSA, maxRSA)
		}
		if k.E < 3 || k.E%2 == 0 || k.N.Bit(0) == 0 {
			return nil, errors.New("it is no key of RSA")
		}
		return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}, nil
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return []jose.SignatureAlgorithm{jose.ES256}, nil
		case elliptic.P384():
			return []jose.SignatureAlgorithm{jose.ES384}, nil
		case elliptic.P521():
			return []jose.SignatureAlgorithm{jose.ES512}, nil
		}
		return nil, errors.New("its curve is not taken")
	case ed25519.PublicKey:
		return []jose.SignatureAlgorithm{jose.EdDSA}, nil
	case []byte:
		return fitsSecret(len(k))
	}
	return nil, errors.New("its kind is not taken")
}

// fitsSecret returns the algorithms for a secret of so many bytes: no shorter than the hash (RFC 7518 section 3.2).
func fitsSecret(size int) ([]jose.SignatureAlgorithm, error) {
	switch {
	case size >= 64:
		return []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512}, nil
	case size >= 48:
		return []jose.SignatureAlgorithm{jose.HS256, jose.HS384}, nil
	case size >= minSecret:
		return []jose.SignatureAlgorithm{jose.HS256}, nil
	}
	return nil, fmt.Errorf("it has less than %d bytes", minSecret)
}

// static is keys from the definition.
type static struct{ set *keySet }

func (s static) now(context.Context) *keySet                  { return s.set }
func (s static) after(_ context.Context, old *keySet) *keySet { return old }
