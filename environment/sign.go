package environment

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxLabel is the maximum length of a tag that [ValidTag] accepts, in bytes.
	MaxLabel = 63
	// MinKey is the minimum length of a signing key in bytes: that of the hash (RFC 2104 section 3).
	MinKey = sha256.Size
	// separator stands between tag, expiry and signature. No value of a Kubernetes label contains it.
	separator = "~"
	// domain separates the signed text from those of other protocols with the same key.
	domain = "sluice environment tag v1"
)

// ValidTag reports whether a tag is a value of a Kubernetes label that is not empty: 1 to 63 letters, digits, "-", "_"
// and ".", of which the first and the last are a letter or a digit.
func ValidTag(tag string) bool {
	if tag == "" || len(tag) > MaxLabel || !alphanumeric(tag[0]) || !alphanumeric(tag[len(tag)-1]) {
		return false
	}
	for i := range len(tag) {
		if c := tag[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Signed reports whether a value has the form of a signed tag, valid or not. No valid tag has it.
func Signed(value string) bool { return strings.Contains(value, separator) }

// The errors of Key.Verify. They contain nothing of the value.
var (
	// ErrMalformed is for a value that is not tag~expiry~signature.
	ErrMalformed = errors.New("the signed tag is malformed")
	// ErrSignature is for a signature of another key, tag, expiry or header.
	ErrSignature = errors.New("the signature of the tag is wrong")
	// ErrExpired is for a correct signature whose expiry is reached.
	ErrExpired = errors.New("the signature of the tag has expired")
)

// Key signs tags with HMAC-SHA256 (RFC 2104), so that everyone who has the signed tag may select that environment until
// it expires. It is an immutable value, which is printed without its content.
type Key struct{ secret func() []byte }

// NewKey returns the key with this content, of which a line break at the end is not a part. It has at least [MinKey]
// bytes.
func NewKey(content []byte) (Key, error) {
	secret := bytes.Clone(bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r")))
	if len(secret) < MinKey {
		return Key{}, fmt.Errorf("has %d bytes, and at least %d are needed", len(secret), MinKey)
	}
	return Key{secret: func() []byte { return secret }}, nil
}

// Format prints "signing key", whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("signing key")) }

// Sign returns the signed form of a tag, tag~expiry~signature: expiry in seconds since 1970, and the signature in
// base64url without padding. It is valid for one header, whose name is compared in any case, until the expiry, which is
// rounded down to seconds. Sign fails for a tag that is not a [ValidTag], and for an expiry before 1970.
func (k Key) Sign(header, tag string, expiry time.Time) (string, error) {
	if !ValidTag(tag) {
		return "", fmt.Errorf("the tag %q is not the value of a Kubernetes label", tag)
	}
	if expiry.Unix() <= 0 {
		return "", errors.New("the expiry is before 1970")
	}
	seconds := strconv.FormatInt(expiry.Unix(), 10)
	signature := base64.RawURLEncoding.EncodeToString(k.mac(header, tag, seconds))
	return tag + separator + seconds + separator + signature, nil
}

// Verify returns the tag of a signed value that is valid now, for this header. The error is one of [ErrMalformed],
// [ErrSignature] and [ErrExpired]. Signatures are compared in constant time.
func (k Key) Verify(header, value string, now time.Time) (string, error) {
	tag, rest, _ := strings.Cut(value, separator)
	seconds, encoded, found := strings.Cut(rest, separator)
	if !found || !ValidTag(tag) || len(encoded) != base64.RawURLEncoding.EncodedLen(sha256.Size) {
		return "", ErrMalformed
	}
	expiry, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || expiry <= 0 || strconv.FormatInt(expiry, 10) != seconds {
		return "", ErrMalformed
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", ErrMalformed
	}
	if !hmac.Equal(signature, k.mac(header, tag, seconds)) {
		return "", ErrSignature
	}
	if now.Unix() >= expiry {
		return "", ErrExpired
	}
	return tag, nil
}

// mac returns the signature. The parts are on lines of their own, and none of them can contain a line break.
func (k Key) mac(header, tag, seconds string) []byte {
	mac := hmac.New(sha256.New, k.secret())
	mac.Write([]byte(strings.Join([]string{domain, http.CanonicalHeaderKey(header), tag, seconds}, "\n")))
	return mac.Sum(nil)
}
