package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // The hashes of all algorithms.
	_ "crypto/sha512"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// signature signs as RFC 7518 section 3 says, by the standard library alone, so that what is verified was not made by
// what verifies it.
func signature(algorithm jose.SignatureAlgorithm, key any, input string) ([]byte, error) {
	hash := map[string]crypto.Hash{
		"256": crypto.SHA256, "384": crypto.SHA384,
		"512": crypto.SHA512,
	}[string(algorithm[len(algorithm)-3:])]
	if private, ok := key.(ed25519.PrivateKey); ok {
		return ed25519.Sign(private, []byte(input)), nil
	}
	if secret, ok := key.([]byte); ok {
		mac := hmac.New(hash.New, secret)
		_, _ = mac.Write([]byte(input))
		return mac.Sum(nil), nil
	}
	digest := hash.New()
	_, _ = digest.Write([]byte(input))
	switch private := key.(type) {
	case *rsa.PrivateKey:
		if algorithm[0] == 'P' {
			return rsa.SignPSS(rand.Reader, private, hash, digest.Sum(nil),
				&rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		}
		return rsa.SignPKCS1v15(rand.Reader, private, hash, digest.Sum(nil))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, private, digest.Sum(nil))
		if err != nil {
			return nil, err
		}
		size := (private.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), nil
	}
	return nil, fmt.Errorf("no way to sign with %T", key)
}
