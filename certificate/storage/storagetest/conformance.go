package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// soon is how long a change may take to be seen, with time for a slow machine.
const soon = 20 * time.Second

// Run tests that what open returns fulfils the contract of storage.Store. Each call of open within one test returns
// another replica's view of the same storage, which is empty at first.
func Run(t *testing.T, fresh func(t *testing.T) (open func() storage.Store)) {
	t.Run("values", func(t *testing.T) { testValues(t, fresh(t)) })
	t.Run("keys", func(t *testing.T) { testKeys(t, fresh(t)) })
	t.Run("watch", func(t *testing.T) { testWatch(t, fresh(t)) })
	t.Run("lead", func(t *testing.T) { testLead(t, fresh(t)) })
	t.Run("writers", func(t *testing.T) { testWriters(t, fresh(t)) })
}

func schedule(id string) storage.Key {
	return storage.Key{Kind: storage.KindSchedule, Resolver: "le", ID: id}
}

func value(text string) []byte { return fmt.Appendf(nil, "{%q:%q}", "v", text) }

func testValues(t *testing.T, open func() storage.Store) {
	one, other := open(), open()
	key := schedule("a")
	if _, err := one.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing value: %v", err)
	}
	for _, text := range []string{"first", "second", strings.Repeat("long", 25_000)} {
		if err := one.Put(t.Context(), key, value(text)); err != nil {
			t.Fatal(err)
		}
		for _, store := range []storage.Store{one, other} {
			if got, err := store.Get(t.Context(), key); err != nil || !bytes.Equal(got, value(text)) {
				t.Fatalf("%.40q is read as %.40q, error %v", text, got, err)
			}
		}
	}
	for range 2 { // The second time it is missing, which is no error.
		if err := other.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := one.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a deleted value: %v", err)
	}
}

// testKeys has keys with all characters, which have to stay apart.
func testKeys(t *testing.T, open func() storage.Store) {
	store := open()
	ids := []string{
		"", "a", "A", "a/b", "a:b", "a b", "*.example.com", "a?b", "a%2Fb", "a{b}", "ä", "日本", "a\\b", "..", "a\nb", "-_.",
		strings.Repeat("x", 10_000), "http-01/token",
	}
	kinds := []storage.Kind{storage.KindOrder, storage.KindChallenge, storage.KindDemand}
	for i, id := range ids {
		for _, kind := range kinds {
			for _, resolver := range []string{"le", "le/x", "", "LE"} {
				key := storage.Key{Kind: kind, Resolver: resolver, ID: id}
				if err := store.Put(t.Context(), key, value(fmt.Sprint(i, kind, resolver))); err != nil {
					t.Fatalf("%+.80v: %v", key, err)
				}
			}
		}
	}
	w := newWatcher(t, open())
	w.await(func() bool { return len(w.values) == len(ids)*len(kinds)*4 })
	for i, id := range ids {
		key := storage.Key{Kind: storage.KindDemand, Resolver: "LE", ID: id}
		want := value(fmt.Sprint(i, key.Kind, key.Resolver))
		if got := w.get(key); !bytes.Equal(got, want) {
			t.Errorf("%.40q: watched %q", id, got)
		}
		if got, err := store.Get(t.Context(), key); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%.40q: %q, error %v", id, got, err)
		}
	}
}

func testWatch(t *testing.T, open func() storage.Store) {
	store := open()
	if err := store.Put(t.Context(), schedule("before"), value("1")); err != nil {
		t.Fatal(err)
	}
	watchers := []*watcher{newWatcher(t, store), newWatcher(t, open())}
	for _, w := range watchers {
		w.await(func() bool { return string(w.values[schedule("before")]) == string(value("1")) })
		if w.calls != 1 {
			t.Errorf("the present values came in %d calls", w.calls)
		}
	}
	for i := range 200 {
		if err := store.Put(t.Context(), schedule(fmt.Sprint(i%20)), value(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(t.Context(), schedule("before")); err != nil {
		t.Fatal(err)
	}
	for _, w := range watchers {
		w.await(func() bool {
			_, kept := w.values[schedule("before")]
			return !kept && len(w.values) == 20 && string(w.values[schedule("19")]) == string(value("199"))
		})
	}
}

func testLead(t *testing.T, open func() storage.Store) {
	var mutex sync.Mutex
	leading, terms := 0, make(chan int, 10)
	var cancels []context.CancelFunc
	var ended sync.WaitGroup
	for i := range 3 {
		store := open()
		ctx, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		ended.Go(func() {
			_ = store.Lead(ctx, func(term context.Context) {
				mutex.Lock()
				if leading++; leading != 1 {
					t.Errorf("%d replicas lead", leading)
				}
				mutex.Unlock()
				terms <- i
				<-term.Done()
				mutex.Lock()
				leading--
				mutex.Unlock()
			})
		})
	}
	timer := time.NewTimer(3 * soon)
	defer timer.Stop()
	for range 3 {
		select {
		case i := <-terms:
			cancels[i]()
		case <-timer.C:
			t.Fatal("no replica leads")
		}
	}
	ended.Wait()
}

// testWriters has several replicas write at a time: no value is lost.
func testWriters(t *testing.T, open func() storage.Store) {
	var writers sync.WaitGroup
	for i := range 4 {
		store := open()
		writers.Go(func() {
			for n := range 10 {
				if err := store.Put(t.Context(), schedule(fmt.Sprint(i, n)), value("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	w := newWatcher(t, open())
	w.await(func() bool { return len(w.values) == 40 })
}

// watcher mirrors a storage.
type watcher struct {
	t      *testing.T
	mutex  sync.Mutex
	values map[storage.Key][]byte
	calls  int
}

func newWatcher(t *testing.T, store storage.Store) *watcher {
	t.Helper()
	w := &watcher{t: t, values: map[storage.Key][]byte{}}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := store.Watch(ctx, w.receive); err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); watching.Wait() })
	return w
}

func (w *watcher) receive(changes []storage.Change) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.calls++
	for _, change := range changes {
		if change.Value == nil {
			delete(w.values, change.Key)
			continue
		}
		w.values[change.Key] = change.Value
	}
}

func (w *watcher) get(key storage.Key) []byte {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.values[key]
}

// await waits until condition, which may read the values, is true.
func (w *watcher) await(condition func() bool) {
	w.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); <-ticker.C {
		w.mutex.Lock()
		done := condition()
		w.mutex.Unlock()
		if done {
			return
		}
	}
	w.t.Fatalf("not seen in %v; %d values", soon, len(w.values))
}
