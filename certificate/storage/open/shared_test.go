package open_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// process returns the Stores of one process.
func process(store storage.Store) *open.Stores {
	return open.NewStores(func(string, telemetry.Logger) (storage.Store, error) { return store, nil })
}

// TestOneProcessLeadsForAllItsUsers has two users in each of two processes.
func TestOneProcessLeadsForAllItsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storagetest.NewMemory()
		var leading [2]atomic.Int32
		var stops [2]func()
		for i := range 2 {
			stores := process(store)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for range 2 {
				shared, err := stores.Open("acme.json", telemetry.Discard{})
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() {
					if err := shared.Lead(ctx, func(term context.Context) {
						leading[i].Add(1)
						<-term.Done()
						leading[i].Add(-1)
					}); err != nil {
						t.Error(err)
					}
				})
			}
			stops[i] = func() { cancel(); running.Wait() }
			synctest.Wait()
		}
		if leading[0].Load() != 2 || leading[1].Load() != 0 {
			t.Errorf("%d users lead in the first process, and %d in the second", leading[0].Load(), leading[1].Load())
		}
		stops[0]()
		synctest.Wait()
		if leading[0].Load() != 0 || leading[1].Load() != 2 {
			t.Errorf("later %d users lead in the first process, and %d in the second", leading[0].Load(), leading[1].Load())
		}
		stops[1]()
	})
}

// TestLeadershipMayEnd has a term that ends while its users want to go on.
func TestLeadershipMayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &terms{next: make(chan struct{})}
		shared, err := process(store).Open("x", telemetry.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		var terms atomic.Int32
		for range 2 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if err := shared.Lead(t.Context(), func(term context.Context) {
					terms.Add(1)
					<-term.Done()
				}); err == nil {
					t.Error("no error")
				}
			}()
			for range 3 {
				synctest.Wait()
				store.next <- struct{}{}
			}
			<-done
		}
		if n := terms.Load(); n != 6 {
			t.Errorf("%d terms", n)
		}
	})
}

// terms is a storage that ends a term for each value of next, and fails after three.
type terms struct {
	storagetest.Memory
	next chan struct{}
}

func (s *terms) Lead(ctx context.Context, lead func(context.Context)) error {
	for range 3 {
		term, cancel := context.WithCancel(ctx)
		context.AfterFunc(ctx, cancel)
		var leading sync.WaitGroup
		leading.Go(func() { lead(term) })
		<-s.next
		cancel()
		leading.Wait()
	}
	return errors.New("the lease is lost")
}

func TestStorageIsOpenedOnce(t *testing.T) {
	stores := open.NewStores(func(option string, logger telemetry.Logger) (storage.Store, error) {
		return open.Open(t.Context(), option, open.Options{Logger: logger})
	})
	one, err := stores.Open("acme.json", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := stores.Open("acme.json", telemetry.Discard{}); err != nil || again != one {
		t.Errorf("opened again, error %v", err)
	}
	if _, err := stores.Open("ftp://x", telemetry.Discard{}); err == nil {
		t.Error("an unknown kind is opened")
	}
}
