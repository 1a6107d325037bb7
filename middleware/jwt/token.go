package jwt

import (
	"encoding/base64"
	"strings"

	"github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
)

// maxToken is how long a token can be, in bytes.
const maxToken = 8192

// token is a token in compact serialization (RFC 7515 section 7.1) whose signature has not been checked.
type token struct {
	raw       string
	algorithm jose.SignatureAlgorithm
	keyID     string // Empty when the token names none.
}

// parse takes a token apart, strictly: three parts in base64url without padding, in the one spelling that each has,
// and a header that demands nothing but a signature. What a header says about where keys are (jku, jwk, x5u, x5c) is
// ignored.
func parse(raw string) (token, *refusal) {
	malformed := refuse(invalid, "the token is malformed")
	parts := strings.SplitN(raw, ".", 6)
	if len(parts) == 5 {
		return token{}, refuse(invalid, "the token is encrypted, or no token")
	}
	if len(parts) != 3 {
		return token{}, malformed
	}
	base64url := base64.RawURLEncoding.Strict()
	for _, part := range parts {
		if strings.ContainsAny(part, "\r\n") { // The decoder skips these.
			return token{}, malformed
		}
		if _, err := base64url.DecodeString(part); err != nil {
			return token{}, malformed
		}
	}
	head, _ := base64url.DecodeString(parts[0])
	var fields map[string]strict.RawMessage // Names that differ in case differ, and one that comes twice is an error.
	if err := strict.Unmarshal(head, &fields); err != nil || fields == nil {
		return token{}, malformed
	}
	for _, name := range []string{"crit", "b64", "enc", "zip"} {
		if _, present := fields[name]; present {
			return token{}, refuse(invalid, "the header of the token has "+name+", which is not understood")
		}
	}
	algorithm, ok := text(fields, "alg")
	keyID, okID := text(fields, "kid")
	kind, okKind := text(fields, "typ")
	content, okContent := text(fields, "cty")
	switch {
	case !ok || !okID || !okKind || !okContent:
		return token{}, malformed
	case !isToken(kind):
		return token{}, refuse(invalid, "the header of the token says that it is something else (typ)")
	case media(content) == "jwt":
		return token{}, refuse(invalid, "the token is nested")
	}
	return token{raw: raw, algorithm: jose.SignatureAlgorithm(algorithm), keyID: keyID}, nil
}

// text returns a text of the header, which is empty when it is missing, and is not ok when it is no text.
func text(fields map[string]strict.RawMessage, name string) (value string, ok bool) {
	given, has := fields[name]
	if !has {
		return "", true
	}
	var found any
	if err := strict.Unmarshal(given, &found); err != nil {
		return "", false
	}
	value, ok = found.(string)
	return value, ok
}

// isToken reports whether typ is what access tokens have (RFC 7519 section 5.1, RFC 9068 section 2.1).
// Others that the same issuer signs, such as logout+jwt, have their own (RFC 8725 section 3.11).
func isToken(kind string) bool {
	switch media(kind) {
	case "", "jwt", "at+jwt":
		return true
	}
	return false
}

// media returns a media type in the form for comparisons (RFC 7515 section 4.1.9).
func media(kind string) string { return strings.TrimPrefix(strings.ToLower(kind), "application/") }
