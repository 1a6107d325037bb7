package storagetest

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// testKinds sets, reads, replaces and deletes a value of each kind.
func testKinds(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	watcher := Watch(t, second)
	accountKey, account := Account(t, "le")
	_, other := Account(t, "le")
	certificateKey, certificate := Certificate(t, "le", "one", "a.example", "b.example")
	_, renewed := Certificate(t, "le", "two", "b.example", "a.example")
	type value struct {
		key           storage.Key
		before, after []byte
	}
	values := []value{{accountKey, account, other}, {certificateKey, certificate, renewed}}
	for _, kind := range []storage.Kind{
		storage.KindOrder, storage.KindChallenge, storage.KindSchedule, storage.KindDemand,
	} {
		key := storage.Key{Kind: kind, Resolver: "le", ID: "id"}
		values = append(values, value{key, []byte(`{"a":1}`), []byte(`{"a": 2}`)})
	}
	values = append(values, value{storage.Key{Kind: storage.KindTickets}, []byte(`"x"`), []byte(`"y"`)})
	for _, v := range values {
		check(t, first, v.key, nil)
		remove(t, first, v.key)
		for _, text := range [][]byte{v.before, v.after, v.after} {
			put(t, first, v.key, text)
			check(t, first, v.key, text)
			check(t, second, v.key, text)
			watcher.Await(v.key, text)
		}
	}
	for _, v := range values {
		remove(t, second, v.key)
		check(t, first, v.key, nil)
		watcher.Await(v.key, nil)
		remove(t, first, v.key)
	}
}

// testWatch watches before and after values exist, from both replicas.
func testWatch(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	early := Watch(t, first)
	early.until("an empty snapshot", seen, func() bool { return len(early.history) == 0 })
	one := storage.Key{Kind: storage.KindOrder, Resolver: "le", ID: "one"}
	two := storage.Key{Kind: storage.KindOrder, Resolver: "other", ID: "one"}
	put(t, first, one, []byte("1"))
	put(t, second, two, []byte("2"))
	late := Watch(t, second)
	late.until("2 values", seen, func() bool { return len(late.values) == 2 })
	early.Await(one, []byte("1"))
	early.Await(two, []byte("2"))
	remove(t, first, two)
	put(t, second, one, []byte("3"))
	for _, watcher := range []*Watcher{early, late} {
		watcher.Await(two, nil)
		watcher.Await(one, []byte("3"))
	}
	early.Stop()
	put(t, first, one, []byte("4"))
	late.Await(one, []byte("4"))
	again := Watch(t, first)
	again.Await(one, []byte("4"))
	fresh := Watch(t, b.Open(t))
	fresh.until("the present value in the first call", 0, func() bool { return string(fresh.values[one]) == "4" })
}

// testOrder changes one value often. Values may be left out, and the order must be kept.
func testOrder(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	watchers := []*Watcher{Watch(t, first), Watch(t, second)}
	key := storage.Key{Kind: storage.KindSchedule, Resolver: "le", ID: "x"}
	const count = 50
	for i := range count {
		store := first
		if i%2 == 1 {
			store = second
		}
		put(t, store, key, []byte(strconv.Itoa(i)))
	}
	for _, watcher := range watchers {
		watcher.Await(key, []byte(strconv.Itoa(count-1)))
		last := -1
		watcher.mu.Lock()
		history := slices.Clone(watcher.history)
		watcher.mu.Unlock()
		for _, change := range history {
			i, err := strconv.Atoi(string(change.Value))
			if err != nil || i < last {
				t.Fatalf("%q came after %d", change.Value, last)
			}
			last = i
		}
	}
}

// testCharacters has IDs and resolvers of any characters.
func testCharacters(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	watcher := Watch(t, second)
	for i, text := range characters() {
		for _, key := range []storage.Key{
			{Kind: storage.KindDemand, Resolver: "le", ID: text}, {Kind: storage.KindDemand, Resolver: text, ID: "a"},
		} {
			put(t, first, key, fmt.Append(nil, i, len(key.ID)))
		}
	}
	for i, text := range characters() {
		for _, key := range []storage.Key{
			{Kind: storage.KindDemand, Resolver: "le", ID: text}, {Kind: storage.KindDemand, Resolver: text, ID: "a"},
		} {
			check(t, second, key, fmt.Append(nil, i, len(key.ID)))
			watcher.Await(key, fmt.Append(nil, i, len(key.ID)))
			remove(t, second, key)
			watcher.Await(key, nil)
		}
	}
}

// testMany has both replicas write at the same time. None of their values may be lost.
func testMany(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	watchers := []*Watcher{Watch(t, first), Watch(t, second)}
	const each = 100
	var writers sync.WaitGroup
	for i, store := range []storage.Store{first, second, first, second} {
		writers.Go(func() {
			for n := i / 2; n < each; n += 2 {
				key, value := Certificate(t, "le", "x", fmt.Sprintf("%d-%d.example", i%2, n))
				if err := store.Put(t.Context(), key, value); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	watchers = append(watchers, Watch(t, b.Open(t)))
	for _, watcher := range watchers {
		watcher.until("200 values", seen, func() bool { return len(watcher.values) == 2*each })
	}
}

// testLarge has a value of 100 KB of each of two kinds.
func testLarge(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	watcher := Watch(t, second)
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	key, value := Certificate(t, "le", string(text), "a.example")
	put(t, first, key, value)
	order := storage.Key{Kind: storage.KindOrder, Resolver: "le", ID: "x"}
	put(t, first, order, text)
	check(t, second, key, value)
	check(t, second, order, text)
	watcher.Await(key, value)
	watcher.Await(order, text)
}

// testRestart restarts the server between changes, which the watch gets nevertheless.
func testRestart(t *testing.T, b Backend) {
	first, second := b.Open(t), b.Open(t)
	watcher := Watch(t, second)
	kept := storage.Key{Kind: storage.KindOrder, Resolver: "le", ID: "kept"}
	gone := storage.Key{Kind: storage.KindOrder, Resolver: "le", ID: "gone"}
	put(t, first, kept, []byte("1"))
	put(t, first, gone, []byte("1"))
	watcher.Await(gone, []byte("1"))
	b.Restart(t)
	retry(t, "Delete", func() error { return first.Delete(t.Context(), gone) })
	retry(t, "Put", func() error { return first.Put(t.Context(), kept, []byte("2")) })
	watcher.AwaitLong(gone, nil)
	watcher.AwaitLong(kept, []byte("2"))
	check(t, second, kept, []byte("2"))
}
