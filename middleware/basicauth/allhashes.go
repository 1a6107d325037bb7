package basicauth

import (
	"crypto/sha1" //nolint:gosec // required by the form {SSHA} of password files
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
)

const (
	saltedPrefix = "{SSHA}"
	plainPrefix  = "{PLAIN}"
)

var errAnyHash = errors.New("the hash of the password is of no kind that is known: MD5 ($apr1$, $1$), SHA-256 ($5$) and " +
	"SHA-512 ($6$) of crypt, SHA-1 ({SHA}, {SSHA}), bcrypt ($2y$, $2a$, $2b$, $2x$), or a plain password ({PLAIN})")

// parseAnyUser parses a line user:hash or user:hash:comment, with every hash that nginx accepts but those of DES.
func parseAnyUser(line string) (name string, hash stored, err error) {
	if name, rest, found := strings.Cut(line, ":"); found {
		text, _, _ := strings.Cut(rest, ":")
		line = name + ":" + text
	}
	return parseLine(line, parseAnyHash)
}

func parseAnyHash(text string) (stored, error) {
	for _, prefix := range []string{sha256Prefix, sha512Prefix} {
		if strings.HasPrefix(text, prefix) {
			return parseCrypt(text, prefix)
		}
	}
	if encoded, found := strings.CutPrefix(text, saltedPrefix); found {
		return parseSalted(text, encoded)
	}
	if password, found := strings.CutPrefix(text, plainPrefix); found {
		if password == "" {
			return stored{}, errors.New("the user has no password")
		}
		return stored{kind: kind{scheme: plain}, text: []byte(text)}, nil
	}
	hash, err := parseHash(text)
	if errors.Is(err, errHash) {
		return stored{}, errAnyHash
	}
	return hash, err
}

// parseSalted parses the base64 of a sum, which is the SHA-1 of password and salt, and of the salt.
func parseSalted(text, encoded string) (stored, error) {
	sum, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(sum) < sha1.Size {
		return stored{}, errors.New("the salted SHA-1 hash of the password is not 20 bytes and a salt in base64")
	}
	salt := string(sum[sha1.Size:])
	return stored{
		kind: kind{scheme: saltedSHA, cost: len(salt)}, text: []byte(saltedPrefix + string(sum[:sha1.Size])), salt: salt,
	}, nil
}

// matchesAny is stored.matches for what nginx accepts beside other kinds.
func (s stored) matchesAny(password []byte) bool {
	switch s.kind.scheme {
	case sha256Crypt, sha512Crypt:
		compared := password[:min(len(password), maxCryptPassword)]
		sum := hashCrypt(s.kind.scheme, compared, s.salt, s.kind.rounds)
		return subtle.ConstantTimeCompare(sum, s.text[len(s.text)-len(sum):]) == 1 && len(compared) == len(password)
	case saltedSHA:
		sum := sha1.Sum(append(append(make([]byte, 0, len(password)+len(s.salt)), password...), s.salt...))
		return subtle.ConstantTimeCompare(sum[:], s.text[len(saltedPrefix):]) == 1
	default:
		// The hashes have one length.
		sent, wanted := sha256.Sum256(password), sha256.Sum256(s.text[len(plainPrefix):])
		return subtle.ConstantTimeCompare(sent[:], wanted[:]) == 1
	}
}

// dummyOfAny is dummy for what nginx accepts beside other kinds. random has 64 characters of crypt's alphabet.
func dummyOfAny(k kind, random string) stored {
	hash := stored{kind: k, salt: strings.Repeat(random, k.cost/len(random)+1)[:k.cost]}
	switch k.scheme {
	case sha256Crypt:
		hash.prefix, hash.text = sha256Prefix, []byte(sha256Prefix+hash.salt+"$"+random[:43])
	case sha512Crypt:
		hash.prefix, hash.text = sha512Prefix, []byte(sha512Prefix+hash.salt+"$"+random+random[:22])
	case saltedSHA:
		hash.text = []byte(saltedPrefix + random[:sha1.Size])
	default:
		hash.text = []byte(plainPrefix + random)
	}
	return hash
}
