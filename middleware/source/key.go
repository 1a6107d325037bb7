package source

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"net/netip"
	"strings"
)

// digestLength is the length of a digest as text. A text that is not one is shorter, so that no client can send a
// digest.
const digestLength = 2 * sha256.Size

// Key stands for one source. It is comparable; keys of one Source are equal when the source is the same.
type Key struct {
	// Addr is the address of the client, or zero.
	Addr netip.Addr
	// Text is the host or the value of the header, and of one with 64 bytes or more its SHA-256 as 64 hexadecimal
	// digits.
	Text string
}

// String returns a text of its own, which no two keys of one Source share. That of the zero key is empty.
func (k Key) String() string {
	if k.Addr.IsValid() {
		return k.Addr.String()
	}
	return strings.Clone(k.Text)
}

// Hash returns 64 bits that identify a key of one Source in tables, without keeping it: without the seed nothing can
// make two keys with the same ones, and among a million keys the chance that any two share them is below one in ten
// million.
func (k Key) Hash(seed maphash.Seed) uint64 {
	if !k.Addr.IsValid() {
		return maphash.String(seed, k.Text)
	}
	bytes := k.Addr.As16()
	return maphash.Bytes(seed, bytes[:])
}

// short returns the text, or the digest of one that is long, since clients decide how long it is.
func short(text string) string {
	if len(text) < digestLength {
		return text
	}
	return digest(text)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
