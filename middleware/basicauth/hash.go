package basicauth

import (
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // required by the form {SHA} of password files
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/sluiceproxy/sluice/middleware/users"
)

// maxCost is the highest accepted cost of bcrypt, as in htpasswd: seconds for each password.
const maxCost = 17

// scheme is a way to hash a password.
type scheme int

const (
	sha scheme = iota // "{SHA}": SHA-1, without salt
	md5Crypt
	bcrypted
	// What nginx accepts beside them (allHashes).
	saltedSHA // "{SSHA}": SHA-1 of password and salt
	plain     // "{PLAIN}"
	sha256Crypt
	sha512Crypt
)

// slow reports whether a hash is expensive.
func (s scheme) slow() bool { return s != sha && s != saltedSHA && s != plain }

// kind is a scheme and its cost. Hashes of one kind take the same time.
type kind struct {
	scheme scheme
	cost   int // of bcrypt, or the length of the salt that others have, which every round hashes
	rounds int // of crypt by SHA-256 and SHA-512
}

// sharesDummy reports whether two kinds differ in rounds at most.
func (k kind) sharesDummy(other kind) bool { return k.scheme == other.scheme && k.cost == other.cost }

type stored struct {
	kind kind
	// text is the hash as written.
	text []byte
	// prefix and salt are those of MD5 and crypt; salt is also that of salted SHA-1.
	prefix, salt string
}

// parseUser parses a line user:hash.
func parseUser(line string) (name string, hash stored, err error) { return parseLine(line, parseHash) }

func parseLine(line string, parse func(text string) (stored, error)) (name string, hash stored, err error) {
	name, text, found := strings.Cut(line, ":")
	switch {
	case !found:
		return "", stored{}, errors.New("has no colon; a user and the hash of a password with a colon between them are " +
			"expected")
	case strings.Contains(text, ":"):
		return "", stored{}, errors.New("has more than one colon")
	}
	if err := users.CheckName(name); err != nil {
		return "", stored{}, err
	}
	hash, err = parse(text)
	return name, hash, err
}

const (
	shaPrefix  = "{SHA}"
	apr1Prefix = "$apr1$"
	md5Prefix  = "$1$"
	alphabet   = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var errHash = errors.New("the hash of the password is of no kind that is known: MD5 ($apr1$, $1$), SHA-1 ({SHA}) or " +
	"bcrypt ($2y$, $2a$, $2b$, $2x$)")

func parseHash(text string) (stored, error) {
	if text == "" {
		return stored{}, errors.New("the user has no password")
	}
	if strings.HasPrefix(text, "$$") {
		return stored{}, errors.New("the hash of the password has doubled dollar signs, which are single ones outside of " +
			"compose files")
	}
	if strings.HasPrefix(text, shaPrefix) {
		return parseSHA(text)
	}
	for _, prefix := range []string{apr1Prefix, md5Prefix} {
		if rest, found := strings.CutPrefix(text, prefix); found {
			return parseMD5(text, prefix, rest)
		}
	}
	for _, prefix := range []string{"$2a$", "$2b$", "$2x$", "$2y$"} {
		if strings.HasPrefix(text, prefix) {
			return parseBcrypt(text)
		}
	}
	return stored{}, errHash
}

func parseSHA(text string) (stored, error) {
	sum, err := base64.StdEncoding.Strict().DecodeString(text[len(shaPrefix):])
	if err != nil || len(sum) != sha1.Size {
		return stored{}, errors.New("the SHA-1 hash of the password is not 20 bytes in base64")
	}
	return stored{kind: kind{scheme: sha}, text: []byte(text)}, nil
}

func parseMD5(text, prefix, rest string) (stored, error) {
	salt, sum, found := strings.Cut(rest, "$")
	if !found || len(salt) > maxSalt || len(sum) != md5Length || !only(sum, alphabet) {
		return stored{}, errors.New("the MD5 hash of the password is not a salt of up to 8 characters, a dollar sign and " +
			"22 characters")
	}
	return stored{kind: kind{scheme: md5Crypt, cost: len(salt)}, text: []byte(text), prefix: prefix, salt: salt}, nil
}

// bcryptLength is the length of a bcrypt hash: prefix and cost, and 53 characters of salt and sum.
const bcryptLength = 60

func parseBcrypt(text string) (stored, error) {
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil || len(text) != bcryptLength || text[6] != '$' || !only(text[7:], alphabet) {
		return stored{}, errors.New("the bcrypt hash of the password is not a cost of two digits, a dollar sign and 53 " +
			"characters")
	}
	if cost > maxCost {
		return stored{}, fmt.Errorf("the cost %d of the bcrypt hash is above %d", cost, maxCost)
	}
	return stored{kind: kind{scheme: bcrypted, cost: cost}, text: []byte(text)}, nil
}

func only(text, characters string) bool {
	return strings.Trim(text, characters) == ""
}

// matches reports whether a password has this hash. The time depends only on the kind of the hash and the length of the
// password.
func (s stored) matches(password []byte) bool {
	switch s.kind.scheme {
	case bcrypted:
		return bcrypt.CompareHashAndPassword(s.text, password) == nil
	case md5Crypt:
		sum := hashMD5(password, s.prefix, s.salt)
		return subtle.ConstantTimeCompare(sum[:], s.text[len(s.text)-md5Length:]) == 1
	case saltedSHA, plain, sha256Crypt, sha512Crypt:
		return s.matchesAny(password)
	default:
		sum := sha1.Sum(password)
		var encoded [28]byte
		base64.StdEncoding.Encode(encoded[:], sum[:])
		return subtle.ConstantTimeCompare(encoded[:], s.text[len(shaPrefix):]) == 1
	}
}

// dummy returns a hash of a kind that no password has.
func dummy(k kind) stored {
	var random [64]byte
	_, _ = rand.Read(random[:]) // ends the process if the system has no randomness
	for i, b := range random {
		random[i] = alphabet[b%64]
	}
	salt := string(random[:])
	switch k.scheme {
	case bcrypted:
		return stored{kind: k, text: fmt.Appendf(nil, "$2y$%02d$%s", k.cost, salt[:53])}
	case md5Crypt:
		sum := salt[maxSalt : maxSalt+md5Length]
		salt = salt[:k.cost]
		return stored{kind: k, text: []byte(apr1Prefix + salt + "$" + sum), prefix: apr1Prefix, salt: salt}
	case saltedSHA, plain, sha256Crypt, sha512Crypt:
		return dummyOfAny(k, salt)
	default:
		return stored{kind: k, text: []byte(shaPrefix + base64.StdEncoding.EncodeToString(random[:sha1.Size]))}
	}
}
