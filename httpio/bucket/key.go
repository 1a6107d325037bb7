package bucket

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// HashKey makes the keys of a [Table] from sources, by wyhash as the runtime of Go does for its maps. Without the
// HashKey, collisions cannot be constructed; among a million sources, the chance of one is below one in ten million.
// Unlike a seed of hash/maphash it can be passed to another process.
type HashKey [4]uint64

// NewHashKey returns a random one.
func NewHashKey() HashKey {
	var b [32]byte
	_, _ = rand.Read(b[:]) // It does not return errors.
	var k HashKey
	for i := range k {
		k[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return k
}

// lengths separates texts of different lengths.
const lengths = 0x1d8e4e27c47d124f

// Address returns the hash of an address.
func (k *HashKey) Address(addr [16]byte) uint64 {
	return mix(lengths^16, mix(binary.LittleEndian.Uint64(addr[:])^k[1], binary.LittleEndian.Uint64(addr[8:])^k[0]))
}

// Text returns the hash of a text.
func (k *HashKey) Text(text string) uint64 {
	seed, rest := k[0], text
	for len(rest) > 16 {
		seed = mix(word(rest)^k[1], word(rest[8:])^seed)
		rest = rest[16:]
	}
	var a, b uint64
	switch {
	case len(rest) >= 8:
		a, b = word(rest), word(rest[len(rest)-8:])
	case len(rest) > 0:
		for i := range len(rest) {
			a |= uint64(rest[i]) << (8 * i)
		}
		b = k[2]
	default:
		a, b = k[2], k[3]
	}
	return mix(lengths^uint64(len(text)), mix(a^k[1], b^seed))
}

// word reads the first eight bytes.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// mix multiplies, and folds the product.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
