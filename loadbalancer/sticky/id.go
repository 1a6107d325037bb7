package sticky

import (
	"crypto/sha1" //nolint:gosec // A short name for a cookie, which protects nothing.
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
)

const (
	// idLength is how many hexadecimal digits an identifier has.
	idLength = 16
	// nameDigits is how many hexadecimal digits the default name of a cookie has.
	nameDigits = 5
	// nameSalt precedes the service in the input of a cookie's default name.
	nameSalt = "_TRAEFIK_BACKEND_"
)

// ID returns the value of the cookie for a server or a child service: the first 16 hexadecimal digits of the SHA-256 of
// its name, which is the server's URL as it is declared, or the child's name as its parent lists it.
func ID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:idLength]
}

// Random returns a random value for a cookie that is hashed over the servers, of as many digits as an ID.
func Random() string {
	var number [idLength / 2]byte
	binary.BigEndian.PutUint64(number[:], rand.Uint64())
	return hex.EncodeToString(number[:])
}

// Aliases returns the values that older versions of Traefik have given out for the same name, the newest last: the name
// itself, its FNV-64, and the FNV-64 of that. Who accepts one gives the client the value of today in its place.
func Aliases(name string) []string {
	once := short(name)
	return []string{name, short(once), once}
}

// short returns the FNV-64 of a text in hexadecimal digits, without leading zeros.
func short(text string) string {
	sum := fnv.New64()
	_, _ = sum.Write([]byte(text)) // never fails
	return strconv.FormatUint(sum.Sum64(), 16)
}

// defaultName returns the name of the cookie of a service that sets none.
func defaultName(service string) string {
	sum := sha1.Sum([]byte(nameSalt + service)) //nolint:gosec // as above
	return "_" + hex.EncodeToString(sum[:])[:nameDigits]
}
