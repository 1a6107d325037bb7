// Package storagetest tests that a store of certificates keeps the contract of package storage.
//
// Run is called by the tests of each store with a Backend, which opens replicas on storage that is fresh for each test.
package storagetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

const (
	// seen bounds how long a change takes to reach other replicas. (The contract says 2 s; machines of tests are slow.)
	seen = 4 * time.Second
	// patience bounds everything else.
	patience = 40 * time.Second
	// beat is what times are counted in, so that a time in which the machine runs nothing of the test does not count.
	beat = 50 * time.Millisecond
)

// Backend is a kind of store, with storage of its own for one test.
type Backend struct {
	// Open opens the store of one more replica, which ends with the test.
	Open func(t *testing.T) storage.Store
	// OpenFragile is Open, and returns what ends the replica as a crash does: nothing is released. Nil leaves crashes out.
	OpenFragile func(t *testing.T) (storage.Store, func())
	// Restart restarts the server with its data. Nil means that there is none.
	Restart func(t *testing.T)
}

// Run tests stores. Each of its tests calls backend once, which may have it run in parallel.
func Run(t *testing.T, backend func(t *testing.T) Backend) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b Backend)
	}{
		{"values of all kinds", testKinds},
		{"snapshot and changes", testWatch},
		{"changes of one value in order", testOrder},
		{"any characters", testCharacters},
		{"many values", testMany},
		{"large values", testLarge},
		{"one leader", testLead},
		{"leader that crashes", testCrash},
		{"server that restarts", testRestart},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := backend(t)
			if test.name == "leader that crashes" && b.OpenFragile == nil || test.name == "server that restarts" && b.Restart == nil {
				return
			}
			test.run(t, b)
		})
	}
}

// Certificate returns the key and value of a certificate for names. It is not a real one.
func Certificate(t testing.TB, resolver, text string, names ...string) (storage.Key, []byte) {
	t.Helper()
	c := storage.Certificate{
		Main: names[0], SANs: names[1:],
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(text)})),
		Key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("key of " + text)})),
	}
	return storage.Key{
		Kind: storage.KindCertificate, Resolver: resolver, ID: storage.CertificateID(c.Names()),
	}, encode(t, c)
}

// Account returns the key and value of an account with a real key.
func Account(t testing.TB, resolver string) (storage.Key, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return storage.Key{Kind: storage.KindAccount, Resolver: resolver}, encode(t, storage.Account{
		Email: "a@example.org", URI: "https://ca.example/acct/1", Body: json.RawMessage(`{"status":"valid"}`),
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
}

func encode(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Equal reports whether two values of a kind mean the same.
func Equal(kind storage.Kind, a, b []byte) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	switch kind {
	case storage.KindCertificate:
		return same(a, b, func(*storage.Certificate) {})
	case storage.KindAccount:
		return same(a, b, func(account *storage.Account) {
			var compact []byte
			if block, _ := pem.Decode([]byte(account.Key)); block != nil {
				compact = block.Bytes
				if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
					compact, _ = x509.MarshalPKCS8PrivateKey(key)
				}
			}
			account.Key = string(compact)
		})
	}
	return string(a) == string(b)
}

// same compares two values as JSON of a type, after normalize.
func same[T any](a, b []byte, normalize func(*T)) bool {
	var first, second T
	if json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil {
		return string(a) == string(b)
	}
	normalize(&first)
	normalize(&second)
	return reflect.DeepEqual(first, second)
}

// Watcher collects what Watch passes on.
type Watcher struct {
	t    *testing.T
	stop func()

	mu      sync.Mutex
	calls   int
	values  map[storage.Key][]byte
	history []storage.Change
	wake    chan struct{}
}

// Watch watches a store until the test ends or Stop is called.
func Watch(t *testing.T, store storage.Reader) *Watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &Watcher{t: t, values: map[storage.Key][]byte{}, wake: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := store.Watch(ctx, w.receive); err != nil {
			t.Errorf("Watch: %v", err)
		}
	}()
	w.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(w.stop)
	w.until("a first call", patience, func() bool { return w.calls > 0 })
	return w
}

// Stop ends the watch.
func (w *Watcher) Stop() { w.stop() }

func (w *Watcher) receive(changes []storage.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	for _, change := range changes {
		if change.Value == nil {
			delete(w.values, change.Key)
		} else {
			w.values[change.Key] = change.Value
		}
		w.history = append(w.history, change)
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// until waits for a condition, which is checked under the lock.
func (w *Watcher) until(what string, limit time.Duration, condition func() bool) {
	w.t.Helper()
	left := limit / beat
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		w.mu.Lock()
		met := condition()
		w.mu.Unlock()
		if met {
			return
		}
		select {
		case <-w.wake:
			continue
		case <-ticker.C:
		}
		if left--; left < 0 {
			w.t.Fatalf("the watch has not passed on %s within %v", what, limit)
		}
	}
}

// Await waits until the watch has passed on a value; nil waits for its deletion.
func (w *Watcher) Await(key storage.Key, value []byte) { w.await(key, value, seen) }

// AwaitLong is Await for what takes longer, such as reconnecting.
func (w *Watcher) AwaitLong(key storage.Key, value []byte) {
	w.t.Helper()
	w.await(key, value, patience)
}

func (w *Watcher) await(key storage.Key, value []byte, limit time.Duration) {
	w.t.Helper()
	w.until(fmt.Sprintf("%.60q with %d bytes", storage.EncodeKey(key), len(value)), limit,
		func() bool { return Equal(key.Kind, w.values[key], value) })
}

func put(t *testing.T, store storage.Writer, key storage.Key, value []byte) {
	t.Helper()
	if err := store.Put(t.Context(), key, value); err != nil {
		t.Fatalf("Put %.60q: %v", storage.EncodeKey(key), err)
	}
}

func remove(t *testing.T, store storage.Writer, key storage.Key) {
	t.Helper()
	if err := store.Delete(t.Context(), key); err != nil {
		t.Fatalf("Delete %.60q: %v", storage.EncodeKey(key), err)
	}
}

// check demands that Get returns a value; nil demands that it is missing.
func check(t *testing.T, store storage.Reader, key storage.Key, value []byte) {
	t.Helper()
	found, err := store.Get(t.Context(), key)
	switch {
	case value == nil && !errors.Is(err, fs.ErrNotExist):
		t.Errorf("Get %.60q, which is missing: %v, %d bytes", storage.EncodeKey(key), err, len(found))
	case value != nil && err != nil:
		t.Errorf("Get %.60q: %v", storage.EncodeKey(key), err)
	case value != nil && !Equal(key.Kind, found, value):
		t.Errorf("Get %.60q: %.200q, not %.200q", storage.EncodeKey(key), found, value)
	}
}

// characters returns IDs with every kind of character.
func characters() []string {
	every := make([]byte, 0, 256)
	for b := range 256 {
		every = append(every, byte(b))
	}
	return []string{
		"", "a", "A", "*.example.org", "a/b", "../../etc", "a:b", "a::b", "a?b", "a%2Fb", "a%", "a b", " ", "a+b",
		"[a]", "a\\b", "ü.example", "例え.jp", "a\nb", "\x00", "\xff\xfe", string(every), strings.Repeat("x/ü ", 2048),
	}
}
