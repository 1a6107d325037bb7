package immutable_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/redact"
)

// TestMapsEqualGoMaps changes maps and Go maps side by side, with keys that come and go, and compares all versions.
func TestMapsEqualGoMaps(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, keys := range []int{1, 10, 65, 600} {
		var m immutable.Map[string, int]
		want := map[string]int{}
		for round := range 200 {
			before, frozen := m, maps.Clone(want)
			e := new(immutable.Edit)
			for range random.IntN(20) {
				key := strconv.Itoa(random.IntN(keys))
				if random.IntN(5) < 2 {
					m.Delete(e, key)
					delete(want, key)
				} else {
					m.Set(e, key, random.IntN(3)+round/100)
					want[key] = m.Get(key)
				}
			}
			check(t, m, want, keys)
			check(t, before, frozen, keys)
			checkChanged(t, m.Changed(before), want, frozen)
			checkChanged(t, immutable.Of(want).Changed(before), want, frozen)
			if same := m.Same(before); same != maps.Equal(want, frozen) {
				t.Fatalf("Same is %t for %v and %v", same, want, frozen)
			}
		}
	}
}

// TestGrowingMap crosses the sizes at which the entries are spread among more tables, in one edit and in many.
func TestGrowingMap(t *testing.T) {
	const keys = 9000
	var m immutable.Map[string, int]
	want := map[string]int{}
	e := new(immutable.Edit)
	for i := range keys {
		if i%100 == 0 || i == 8193 {
			before, frozen := m, maps.Clone(want)
			e = new(immutable.Edit)
			m.Set(e, "0", i)
			want["0"] = i
			if i%3000 == 0 || i > 8100 && i < 8300 {
				check(t, before, frozen, i)
				checkChanged(t, m.Changed(before), want, frozen)
			}
		}
		key := strconv.Itoa(i)
		m.Set(e, key, i)
		want[key] = i
	}
	check(t, m, want, keys)
	next := m.With("5", -1).Without("8000")
	if changed := slices.Sorted(next.Changed(m)); !slices.Equal(changed, []string{"5", "8000"}) {
		t.Errorf("changed: %v", changed)
	}
	check(t, m, want, keys)
}

func check(t *testing.T, m immutable.Map[string, int], want map[string]int, keys int) {
	t.Helper()
	if m.Len() != len(want) || m.IsZero() != (len(want) == 0) {
		t.Fatalf("got length %d, want %d", m.Len(), len(want))
	}
	if got := maps.Collect(m.All()); !maps.Equal(got, want) {
		t.Fatalf("All yields %v, want %v", got, want)
	}
	if got := slices.Sorted(m.Keys()); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("Keys yields %v, want those of %v", got, want)
	}
	for i := range keys {
		key := strconv.Itoa(i)
		value, found := m.Find(key)
		if wanted, there := want[key]; value != wanted || found != there || m.Get(key) != wanted {
			t.Fatalf("got %d (%t) for %s, want %d (%t)", value, found, key, wanted, there)
		}
	}
}

func checkChanged(t *testing.T, changed func(func(string) bool), after, before map[string]int) {
	t.Helper()
	want := map[string]struct{}{}
	for key, value := range after {
		if old, found := before[key]; !found || old != value {
			want[key] = struct{}{}
		}
	}
	for key := range before {
		if _, found := after[key]; !found {
			want[key] = struct{}{}
		}
	}
	if got := slices.Sorted(changed); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("Changed yields %v, want %v", got, want)
	}
}

func TestWithAndWithout(t *testing.T) {
	var none immutable.Map[string, int]
	one := none.With("a", 1)
	if none.Len() != 0 || one.Get("a") != 1 || one.Without("a").Len() != 0 || one.Get("a") != 1 {
		t.Error("a version changed with the next one")
	}
	if !one.Without("b").Same(one) {
		t.Error("removing what is not there changed something")
	}
}

// secretive is a value with a secret.
type secretive struct {
	User string `json:"user"`
	Key  string `json:"key"  secret:"true"`
}

func TestMapsAreEncodedAndRedactedAsGoMaps(t *testing.T) {
	shown := struct {
		Objects immutable.Map[string, *secretive] `json:"objects,omitzero"`
		None    immutable.Map[string, int]        `json:"none,omitzero"`
	}{Objects: immutable.Of(map[string]*secretive{"b": {"u", "k"}, "a": nil})}
	text, err := json.Marshal(redact.Copy(shown))
	if want := `{"objects":{"a":null,"b":{"user":"u","key":"xxxx"}}}`; err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
	if shown.Objects.Get("b").Key != "k" {
		t.Error("the original lost its secret")
	}
}

func BenchmarkWith(b *testing.B) {
	for _, size := range []int{1000, 20_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			var m immutable.Map[string, int]
			e := new(immutable.Edit)
			for i := range size {
				m.Set(e, strconv.Itoa(i), i)
			}
			b.ReportAllocs()
			for b.Loop() {
				m = m.With("77", m.Get("77")+1)
			}
		})
	}
}
