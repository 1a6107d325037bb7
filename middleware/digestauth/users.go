package digestauth

import (
	"crypto/md5" //nolint:gosec // required by htdigest and by clients
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/users"
)

// algorithm is a hash algorithm.
type algorithm int

const (
	algorithmMD5 algorithm = iota
	algorithmSHA256
	algorithms // number of algorithms
)

// String returns the name in RFC 7616.
func (a algorithm) String() string { return [...]string{"MD5", "SHA-256"}[a] }

// length returns the length of a hash in hexadecimal digits.
func (a algorithm) length() int { return [...]int{2 * md5.Size, 2 * sha256.Size}[a] }

// algorithmOf returns the algorithm of a name; empty means MD5.
func algorithmOf(name string) (algorithm, bool) {
	switch {
	case name == "" || strings.EqualFold(name, "MD5"):
		return algorithmMD5, true
	case strings.EqualFold(name, "SHA-256"):
		return algorithmSHA256, true
	}
	return 0, false
}

// appendSum appends the hash of data in hexadecimal digits.
func (a algorithm) appendSum(to, data []byte) []byte {
	if a == algorithmSHA256 {
		sum := sha256.Sum256(data)
		return hex.AppendEncode(to, sum[:])
	}
	sum := md5.Sum(data)
	return hex.AppendEncode(to, sum[:])
}

// userLine is one line of htdigest.
type userLine struct {
	name, realm string
	algorithm   algorithm
	// hash is HA1: the hash of name:realm:password in lower-case hexadecimal digits.
	hash string
}

// parseUser parses a line user:realm:hash.
func parseUser(line string) (key string, read userLine, err error) {
	parts := strings.Split(line, ":")
	if len(parts) != 3 {
		return "", userLine{}, fmt.Errorf("has %d parts; a user, a realm and a hash with colons between them are expected",
			len(parts))
	}
	if err := users.CheckName(parts[0]); err != nil {
		return "", userLine{}, err
	}
	read = userLine{name: parts[0], realm: parts[1], hash: strings.ToLower(parts[2])}
	switch {
	case isHex(read.hash, algorithmMD5.length()):
		read.algorithm = algorithmMD5
	case isHex(read.hash, algorithmSHA256.length()):
		read.algorithm = algorithmSHA256
	default:
		return "", userLine{}, errors.New("the hash is neither 32 hexadecimal digits (MD5) nor 64 (SHA-256)")
	}
	return parts[0] + ":" + parts[1] + ":" + read.algorithm.String(), read, nil
}

// user is one user of the realm, with the hashes by algorithm; missing ones are empty.
type user struct {
	name   string
	hashes [algorithms]string
}

// userStore holds the users of one realm. It is immutable.
type userStore struct {
	realm  string
	quoted string
	users  map[string]*user
	// offered are the algorithms that all users have, best first.
	offered []algorithm
	// unknown is used if the user does not exist, so that the time is the same.
	unknown user
	// sum is algorithm.appendSum; tests count its calls.
	sum func(a algorithm, to, data []byte) []byte
}

// preferListed drops users of the file that the option users has too, with any algorithm, since their password may be
// another one. The warnings name those lines.
func preferListed(realm string, entries []users.Entry[userLine]) (kept []users.Entry[userLine], warnings []string) {
	listed := map[string]struct{}{}
	for _, entry := range entries {
		if entry.Listed && entry.Value.realm == realm {
			listed[entry.Value.name] = struct{}{}
		}
	}
	ignored := 0
	for _, entry := range entries {
		if _, named := listed[entry.Value.name]; entry.Listed || !named || entry.Value.realm != realm {
			kept = append(kept, entry)
			continue
		}
		if ignored++; ignored <= maxWarnings {
			warnings = append(warnings, entry.Place+" does not count, since digestAuth.users has the same user")
		}
	}
	if ignored > maxWarnings {
		warnings = append(warnings, fmt.Sprintf("and %d more do not count", ignored-maxWarnings))
	}
	return kept, warnings
}

// newUserStore sorts the entries. The warnings name duplicates and users of other realms.
func newUserStore(realm, quoted string, entries []users.Entry[userLine]) (r *userStore, warnings []string, err error) {
	r = &userStore{realm: realm, quoted: quoted, users: make(map[string]*user), sum: algorithm.appendSum}
	entries, warnings = preferListed(realm, entries)
	foreign := 0
	var has [algorithms]int
	for _, entry := range entries {
		read := entry.Value
		if read.realm != realm {
			if foreign++; foreign <= maxWarnings {
				warnings = append(warnings, entry.Place+" is for another realm than digestAuth.realm and has no effect")
			}
			continue
		}
		has[read.algorithm]++
		if r.users[read.name] == nil {
			r.users[read.name] = &user{name: read.name}
		}
		r.users[read.name].hashes[read.algorithm] = read.hash
	}
	if foreign > maxWarnings {
		warnings = append(warnings, fmt.Sprintf("and %d more are for another realm", foreign-maxWarnings))
	}
	if len(r.users) == 0 {
		return nil, nil, fmt.Errorf("digestAuth.realm is %s, and no user is for it", quoted)
	}
	for _, a := range [...]algorithm{algorithmSHA256, algorithmMD5} {
		if has[a] == len(r.users) {
			r.offered = append(r.offered, a)
		}
	}
	if len(r.offered) == 0 {
		return nil, nil, errors.New("some users of digestAuth have only an MD5 hash and others only a SHA-256 hash, and no " +
			"client knows which to use; give all of them one, or both")
	}
	r.unknown = unknownUser()
	return r, warnings, nil
}

// maxWarnings is the maximum number of warnings of one kind.
const maxWarnings = 10

// unknownUser returns a user with hashes that no password has.
func unknownUser() (u user) {
	for a := range algorithms {
		bytes := make([]byte, a.length()/2)
		random(bytes)
		u.hashes[a] = hex.EncodeToString(bytes)
	}
	return u
}

// challenges returns the values of WWW-Authenticate for a nonce.
func (r *userStore) challenges(nonce, opaque string, stale bool) []string {
	values := make([]string, 0, len(r.offered))
	for _, a := range r.offered {
		value := "Digest realm=" + r.quoted + `, nonce="` + nonce + `", opaque="` + opaque + `", algorithm=` + a.String() +
			`, qop="auth"`
		if stale {
			value += ", stale=true"
		}
		values = append(values, value)
	}
	return values
}

// find returns the user whose password the response proves (RFC 7616 section 3.4.1), or nil. The computation does not
// depend on whether the user exists.
func (r *userStore) find(sent *credentials, method string) *user {
	found := r.users[sent.username]
	hashes := &r.unknown.hashes
	if found != nil {
		hashes = &found.hashes
	}
	a := sent.algorithm
	if !slices.Contains(r.offered, a) {
		return nil
	}
	var room [512]byte
	text := append(room[:0], method...)
	text = append(text, ':')
	text = append(text, sent.uri...)
	var target [2 * sha256.Size]byte
	second := r.sum(a, target[:0], text)
	text = append(text[:0], hashes[a]...)
	for _, part := range [...]string{sent.nonce, sent.nc, sent.cnonce, sent.qop} {
		text = append(text, ':')
		text = append(text, part...)
	}
	text = append(text, ':')
	text = append(text, second...)
	var right [2 * sha256.Size]byte
	expected := r.sum(a, right[:0], text)
	if subtle.ConstantTimeCompare(expected, []byte(strings.ToLower(sent.response))) != 1 {
		return nil
	}
	return found
}
