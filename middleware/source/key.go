package source

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// digestLength is the length of a digest as text. Other texts are shorter, so that clients cannot send a digest.
const digestLength = 2 * sha256.Size

// Key identifies one source. It is comparable; keys of one Source are equal if the source is the same.
type Key struct {
	// Addr is the address of the client, or zero.
	Addr netip.Addr
	// Text is the host or the value of the header; if it has 64 bytes or more, its SHA-256 as 64 hexadecimal digits.
	Text string
}

// String returns a text that is unique among the keys of one Source. That of the zero key is empty.
func (k Key) String() string {
	if k.Addr.IsValid() {
		return k.Addr.String()
	}
	return strings.Clone(k.Text)
}

// Hash returns 64 bits that identify a key of one Source in tables.
func (k Key) Hash(by *bucket.HashKey) uint64 {
	if !k.Addr.IsValid() {
		return by.Text(k.Text)
	}
	return by.Address(k.Addr.As16())
}

// short returns the text, or the digest of a long one.
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
