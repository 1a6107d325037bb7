package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
)

// What bounds a key set.
const (
	maxJWKS = 1 << 20 // bytes
	maxKeys = 100
)

// parseJWKS reads a key set (RFC 7517 section 5) and returns its keys for signatures. What is of no use is left out:
// quietly if it is for something else, as keys for encryption are, and with a line in ignored otherwise. Errors and
// lines hold nothing of the set but numbers.
func parseJWKS(text []byte) (keys []key, ignored []string, err error) {
	if len(text) > maxJWKS {
		return nil, nil, fmt.Errorf("is longer than %d bytes", maxJWKS)
	}
	// The standard library's decoder bounds the depth of JSON, and the other one detects duplicates.
	if !json.Valid(text) {
		return nil, nil, errors.New("is no JSON")
	}
	var set map[string]strict.RawMessage
	if err := strict.Unmarshal(text, &set); err != nil || set == nil {
		return nil, nil, errors.New("is no key set: an object is wanted, and no name twice")
	}
	var given []strict.RawMessage
	listed := bytes.TrimSpace(set["keys"])
	if len(listed) == 0 || listed[0] != '[' || strict.Unmarshal(listed, &given) != nil {
		return nil, nil, errors.New("is no key set: it has no list of keys")
	}
	if len(given) > maxKeys {
		return nil, nil, fmt.Errorf("has %d keys, and more than %d are not taken", len(given), maxKeys)
	}
	for i, text := range given {
		switch key, err := parseJWK(text); {
		case errors.Is(err, errElse):
		case err != nil:
			ignored = append(ignored, fmt.Sprintf("key %d is not used: %v", i, err))
		default:
			keys = append(keys, key)
		}
	}
	return keys, ignored, nil
}

// errElse says that a key is for something else than signatures.
var errElse = errors.New("it is for something else")

// jwk are the fields that say what a key is for. Those that only private and symmetric keys have are looked for by
// name.
type jwk struct {
	Kind       string   `json:"kty"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  string   `json:"alg"`
}

// otherwise says that a key which may be for signatures is of no use.
func otherwise(about jwk, reason string) error {
	if strings.HasPrefix(about.Algorithm, "RSA") || strings.HasPrefix(about.Algorithm, "ECDH") {
		return errElse
	}
	return errors.New(reason)
}

func parseJWK(text []byte) (key, error) {
	var fields map[string]strict.RawMessage
	var about jwk
	if strict.Unmarshal(text, &fields) != nil || fields == nil || strict.Unmarshal(text, &about) != nil {
		return key{}, errors.New("it is malformed")
	}
	if about.Kind == "oct" || fields["k"] != nil {
		return key{}, errors.New("it is symmetric")
	}
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "priv"} {
		if _, private := fields[name]; private {
			return key{}, errors.New("it is private")
		}
	}
	if about.Use != "" && about.Use != "sig" || about.Operations != nil && !slices.Contains(about.Operations, "verify") {
		return key{}, errElse
	}
	var read jose.JSONWebKey
	if err := read.UnmarshalJSON(text); err != nil || !read.IsPublic() || !read.Valid() {
		return key{}, otherwise(about, "it is malformed, or of a kind that is not taken")
	}
	algorithms, err := fits(read.Key)
	if err != nil {
		return key{}, err
	}
	if about.Algorithm != "" {
		if !slices.Contains(algorithms, jose.SignatureAlgorithm(about.Algorithm)) {
			return key{}, otherwise(about, "its algorithm is not taken")
		}
		algorithms = []jose.SignatureAlgorithm{jose.SignatureAlgorithm(about.Algorithm)}
	}
	return newKey(read.KeyID, read.Key, algorithms), nil
}
