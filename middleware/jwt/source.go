package jwt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/dynamic"
)

// minSecret is how long a secret must be, in bytes: as long as the shortest hash (RFC 7518 section 3.2).
const minSecret = 32

// asymmetric returns the algorithms for public keys, and symmetric those for a secret.
func asymmetric() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512,
		jose.EdDSA,
	}
}

func symmetric() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512}
}

// newAlgorithms checks the option algorithms against those that are possible, which are the default.
func newAlgorithms(given []string, possible []jose.SignatureAlgorithm) ([]jose.SignatureAlgorithm, error) {
	if len(given) == 0 {
		return possible, nil
	}
	var allowed []jose.SignatureAlgorithm
	for i, name := range given {
		algorithm := jose.SignatureAlgorithm(name)
		switch {
		case slices.Contains(possible, algorithm):
			allowed = append(allowed, algorithm)
		case slices.Contains(symmetric(), algorithm):
			return nil, fmt.Errorf("jwt.algorithms[%d] %s needs jwt.signingSecret, but there are public keys", i, name)
		case slices.Contains(asymmetric(), algorithm):
			return nil, fmt.Errorf("jwt.algorithms[%d] %s needs a public key, but there is jwt.signingSecret", i, name)
		default:
			return nil, fmt.Errorf("jwt.algorithms[%d] is none of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, "+
				"ES512, EdDSA, HS256, HS384 and HS512", i)
		}
	}
	return allowed, nil
}

// newKeys returns where the keys are, and what of them is not used.
func newKeys(name string, config dynamic.JWT, options Options) (keySource, []string, error) {
	option, err := only(config)
	if err != nil {
		return nil, nil, err
	}
	if config.TLS != nil && option != "jwt.jwksUrl" {
		return nil, nil, errors.New("jwt.tls is set without jwt.jwksUrl")
	}
	possible := asymmetric()
	if option == "jwt.signingSecret" || option == "jwt.signingSecretFile" {
		possible = symmetric()
	}
	allowed, err := newAlgorithms(config.Algorithms, possible)
	if err != nil {
		return nil, nil, err
	}
	if option == "jwt.jwksUrl" {
		source, err := newRemote(name, config, options, allowed)
		if err != nil {
			return nil, nil, err
		}
		return source, nil, nil
	}
	keys, ignored, err := declared(option, config, options)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %w", option, err)
	}
	set := newKeySet(keys, allowed)
	if len(set.keys) == 0 {
		return nil, nil, useless(option, len(keys), ignored)
	}
	for i, line := range ignored {
		ignored[i] = option + ": " + line
	}
	return static{set}, ignored, nil
}

// only returns the one option with keys that is set.
func only(config dynamic.JWT) (string, error) {
	var set []string
	for _, option := range []struct{ name, value string }{
		{"jwt.jwksUrl", config.JwksURL},
		{"jwt.jwksFile", config.JwksFile},
		{"jwt.jwks", config.Jwks},
		{"jwt.publicKey", config.PublicKey},
		{"jwt.publicKeyFile", config.PublicKeyFile},
		{"jwt.signingSecret", config.SigningSecret},
		{"jwt.signingSecretFile", config.SigningSecretFile},
	} {
		if option.value != "" {
			set = append(set, option.name)
		}
	}
	switch len(set) {
	case 1:
		return set[0], nil
	case 0:
		return "", errors.New("jwt has no keys: one of jwksUrl, jwksFile, jwks, publicKey, publicKeyFile, signingSecret " +
			"and signingSecretFile is wanted")
	}
	return "", fmt.Errorf("one option with keys is wanted, but %s are set", strings.Join(set, ", "))
}

// useless says why no key of a set can be used.
func useless(option string, keys int, ignored []string) error {
	switch {
	case keys > 0:
		return fmt.Errorf("jwt.algorithms has none that fits a key of %s", option)
	case len(ignored) > 0:
		return fmt.Errorf("%s holds no key that can be used: %s", option, strings.Join(ignored[:min(len(ignored), 5)], "; "))
	}
	return fmt.Errorf("%s holds no key for signatures", option)
}

// declared returns the keys that an option holds, or the file that it names.
func declared(option string, config dynamic.JWT, options Options) (keys []key, ignored []string, err error) {
	var text []byte
	switch option {
	case "jwt.jwks":
		return parseJWKS([]byte(config.Jwks))
	case "jwt.publicKey":
		keys, err = parsePEM([]byte(config.PublicKey))
		return keys, nil, err
	case "jwt.signingSecret":
		keys, err = parseSecret([]byte(config.SigningSecret))
		return keys, nil, err
	case "jwt.jwksFile":
		if text, err = read(config.JwksFile, maxJWKS, options.ReadFile); err == nil {
			keys, ignored, err = parseJWKS(text)
		}
	case "jwt.publicKeyFile":
		if text, err = read(config.PublicKeyFile, maxPEM, options.ReadFile); err == nil {
			keys, err = parsePEM(text)
		}
	case "jwt.signingSecretFile":
		if text, err = read(config.SigningSecretFile, maxPEM, options.ReadFile); err == nil {
			// Editors and echo end a file with a line break, which is no part of the secret.
			keys, err = parseSecret(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")))
		}
	}
	return keys, ignored, err
}

func parseSecret(secret []byte) ([]key, error) {
	algorithms, err := fits(secret)
	if err != nil {
		return nil, fmt.Errorf("is too short: %w", err)
	}
	return []key{newKey("", secret, algorithms)}, nil
}

// read returns the content of a file. The path is not named: what stands there may be a key or a secret by mistake.
func read(path string, limit int, readFile func(path string) ([]byte, error)) ([]byte, error) {
	if readFile == nil {
		return nil, errors.New("can't be read here")
	}
	if strings.ContainsAny(path, "\r\n{") {
		return nil, errors.New("is not the path of a file")
	}
	text, err := readFile(path)
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed):
		return nil, fmt.Errorf("can't be read: %w", failed.Err)
	case err != nil:
		return nil, errors.New("can't be read")
	case len(text) > limit:
		return nil, fmt.Errorf("is longer than %d bytes", limit)
	}
	return text, nil
}
