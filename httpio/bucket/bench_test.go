package bucket

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// BenchmarkTake takes from tables of different sizes.
func BenchmarkTake(b *testing.B) {
	hash := hashes()
	for _, sources := range []uint64{1, 10_000, 1_000_000} {
		b.Run(strconv.FormatUint(sources, 10), func(b *testing.B) {
			table, random, now := &Table{rate: perSecond(1, 1<<30)}, rand.New(rand.NewPCG(7, 8)), int64(0)
			for i := range sources {
				table.Take(hash(i), 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				now++
				table.Take(hash(random.Uint64N(sources)), now)
			}
		})
	}
}
