package bucket

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// longestDelay is what rateLimit has requests wait.
const longestDelay = 500 * time.Millisecond

// perSecond is the rate of some requests a second.
func perSecond(average, burst int64) Rate {
	r := NewRate(average, time.Second, burst)
	return r.Ahead(min(r.Interval()/2, longestDelay))
}

// model is a bucket as one would write it down first: an amount of credit, which time adds to and requests take from.
type model struct{ credit, last int64 }

func (m *model) take(r *Rate, now int64) (wait int64, allowed bool) {
	m.credit = min(m.credit+now-m.last, r.capacity) - r.interval
	m.last = now
	if -m.credit > r.delay {
		m.credit += r.interval
		return r.interval - m.credit, false
	}
	return max(-m.credit, 0), true
}

// TestTableIsTheModel compares every decision with the model, over rates, bursts, times and any number of sources,
// while buckets are evicted and tables grow and shrink.
func TestTableIsTheModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		r := perSecond(1+random.Int64N(2000), 1+random.Int64N(1<<random.IntN(8)))
		sources := 1 + random.Uint64N(1<<random.IntN(12))
		table, models, now := &Table{rate: r}, map[uint64]*model{}, int64(0)
		spread := random.Int64N(4*r.interval) + 1
		for range 4000 {
			if now += random.Int64N(spread); random.IntN(1000) == 0 {
				now += random.Int64N(2 * sweep)
			}
			key := random.Uint64N(sources) * 0x9e3779b97f4a7c15 // 0 is a key, too.
			m := models[key]
			if m == nil {
				m = &model{credit: r.capacity, last: now}
				models[key] = m
			}
			got := table.Take(key, now)
			if wait, allowed := m.take(&r, now); got.Allowed != allowed || got.Wait != wait || got.Evicted {
				t.Fatalf("%+v: got %+v, want %v after %d", r, got, allowed, wait)
			}
		}
	}
}

// TestShardIsAMap compares finding, putting and removing with a map, in a shard whose keys collide.
func TestShardIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		s, want := &shard{slots: make([]slot, 64)}, map[uint64]int64{}
		base := random.Uint64()
		for range 500 {
			key := base + random.Uint64N(8)<<32 + random.Uint64N(12)
			found := s.find(key)
			if full, known := want[key]; known != (found != nil) || known && found.full != full {
				t.Fatalf("found %v, want %d, %v", found, full, known)
			}
			switch {
			case found == nil && s.taken < 48:
				want[key] = random.Int64()
				s.put(slot{key: key, full: want[key]})
			case found != nil:
				delete(want, key)
				for i := range s.slots {
					if s.slots[i].key == key {
						s.remove(uint64(i))
						break
					}
				}
			}
		}
		for key, full := range want {
			if found := s.find(key); found == nil || found.full != full {
				t.Fatalf("found %v, want %d", found, full)
			}
		}
		if s.taken != len(want) {
			t.Fatalf("%d taken, want %d", s.taken, len(want))
		}
	}
}

// hashes returns a hash for each number.
func hashes() func(i uint64) uint64 {
	seed := maphash.MakeSeed()
	return func(i uint64) uint64 { return maphash.Comparable(seed, i) }
}

func TestFullBucketsAreEvicted(t *testing.T) {
	hash, table := hashes(), &Table{rate: perSecond(1, 5)}
	for i := range uint64(100_000) {
		table.Take(hash(i), 0)
	}
	if got := table.Sources(int64(time.Second) - 1); got != 100_000 {
		t.Errorf("%d sources before their buckets are full, want all", got)
	}
	if got := table.Sources(2 * sweep); got != 0 || slots(table) != 0 {
		t.Errorf("%d sources in %d slots long after, want none", got, slots(table))
	}

	// Without a call of sources, requests of a few sources do it, each in its shard.
	for i := range uint64(100_000) {
		table.Take(hash(i), 3*sweep)
	}
	before := slots(table)
	for i := range uint64(1000) {
		table.Take(hash(i), 5*sweep)
	}
	if after := slots(table); after > before/20 {
		t.Errorf("%d slots of %d are left", after, before)
	}
}

func slots(t *Table) (n int) {
	for i := range t.shards {
		n += len(t.shards[i].slots)
	}
	return n
}

// TestFloodEvictsTheFullest fills a shard with more sources than it holds: it stays within its bounds, and a source
// that is being refused is still refused afterwards.
func TestFloodEvictsTheFullest(t *testing.T) {
	hash, s, r := hashes(), &shard{}, perSecond(1, 5)
	const refused, flood, bound = 100, 2 * most, most * 3 / 4
	for i := range uint64(refused) {
		for range 6 {
			s.take(&r, hash(i), 0)
		}
	}
	evicted := 0
	for i := range uint64(flood) {
		v := s.take(&r, hash(refused+i), 1)
		if !v.Allowed {
			t.Fatalf("a new source is refused: %+v", v)
		}
		if v.Evicted {
			evicted++
		}
	}
	if held := s.count(2); held != bound || len(s.slots) != most || evicted != refused+flood-bound {
		t.Errorf("%d sources in %d slots, %d evicted", held, len(s.slots), evicted)
	}
	for i := range uint64(refused) {
		if v := s.take(&r, hash(i), 3); v.Allowed {
			t.Fatalf("source %d was evicted", i)
		}
	}
}

// TestEvictionTakesFullBucketsFirst has a table full of buckets half of which have become full again: those go, and
// do not count. It looks at a few only, so one in a hundred may be another.
func TestEvictionTakesFullBucketsFirst(t *testing.T) {
	hash, s, r := hashes(), &shard{}, perSecond(1, 5)
	const half = most * 3 / 8
	for i := range uint64(half) {
		s.take(&r, hash(i), 0)
	}
	for i := range uint64(half) {
		s.take(&r, hash(half+i), r.interval/2)
	}
	evicted := 0
	for i := range uint64(half / 4) {
		if s.take(&r, hash(2*half+i), r.interval).Evicted {
			evicted++
		}
	}
	if evicted > half/400 {
		t.Errorf("%d of %d buckets that were evicted were not full", evicted, half/4)
	}
}

// TestOneSourceAtOnce has many goroutines take from few buckets at one time: each gives what it holds, not more and
// not less.
func TestOneSourceAtOnce(t *testing.T) {
	const sources, takers, burst = 7, 8, 100
	hash, table := hashes(), &Table{rate: perSecond(1, burst)}
	allowed := make([][sources]int, takers)
	var group sync.WaitGroup
	for i := range takers {
		group.Go(func() {
			for n := range uint64(sources * burst) {
				if table.Take(hash(n%sources), 1).Allowed {
					allowed[i][n%sources]++
				}
			}
		})
	}
	group.Wait()
	for source := range sources {
		sum := 0
		for i := range takers {
			sum += allowed[i][source]
		}
		if sum != burst {
			t.Errorf("%d requests of source %d passed, want %d", sum, source, burst)
		}
	}
}
