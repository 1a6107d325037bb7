package bucket_test

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// TestHashKey has no two sources with one hash, and changes half of the bits for each other source or key.
func TestHashKey(t *testing.T) {
	key, other := bucket.NewHashKey(), bucket.NewHashKey()
	seen := map[uint64]string{}
	texts := []string{"", "\x00"}
	for n := range 64 {
		texts = append(texts, strings.Repeat("a", n+1), strings.Repeat("a", n)+"b", "b"+strings.Repeat("a", n+1))
	}
	for _, text := range texts {
		hash := key.Text(text)
		if before, known := seen[hash]; known && before != text {
			t.Errorf("%q and %q have one hash", text, before)
		}
		seen[hash] = text
		if hash != key.Text(strings.Clone(text)) || hash == other.Text(text) {
			t.Errorf("%q: the hash does not depend on the key and the text alone", text)
		}
	}
	var changed, buckets [64]int
	const addresses = 1 << 16
	hashes := map[uint64]bool{}
	var before uint64
	for n := range addresses {
		hash := key.Address(address(n))
		hashes[hash] = true
		buckets[hash>>58]++
		for diff := hash ^ before; diff != 0; diff &= diff - 1 {
			changed[bits.TrailingZeros64(diff)]++
		}
		before = hash
	}
	if len(hashes) != addresses {
		t.Errorf("%d hashes of %d addresses", len(hashes), addresses)
	}
	for bit := range 64 {
		if n := changed[bit]; n < addresses*4/10 || n > addresses*6/10 {
			t.Errorf("bit %d differs for %d of %d neighbours", bit, n, addresses)
		}
		if n := buckets[bit]; n < addresses/64/2 || n > addresses/64*2 {
			t.Errorf("%d of %d hashes are in shard %d", n, addresses, bit)
		}
	}
}

// address returns an IPv4 address that is mapped into IPv6.
func address(n int) [16]byte {
	addr := [16]byte{10: 0xff, 11: 0xff}
	binary.BigEndian.PutUint32(addr[12:], uint32(n))
	return addr
}

func BenchmarkHashKey(b *testing.B) {
	key, seed := bucket.NewHashKey(), maphash.MakeSeed()
	text := "203.0.113.7:client-of-some-length"
	b.Run("address", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			_ = key.Address(address(n))
		}
	})
	b.Run("address by maphash", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			addr := address(n)
			_ = maphash.Bytes(seed, addr[:])
		}
	})
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			_ = key.Text(text)
		}
	})
	b.Run("text by maphash", func(b *testing.B) {
		for b.Loop() {
			_ = maphash.String(seed, text)
		}
	})
}
