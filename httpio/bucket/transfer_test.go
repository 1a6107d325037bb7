package bucket_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// TestTransfer has another table go on with the buckets that are not full.
func TestTransfer(t *testing.T) {
	const sources, epoch = 1000, int64(time.Hour)
	rate := bucket.NewRate(1, time.Minute, 2)
	key := bucket.NewHashKey()
	from, to := bucket.NewTable(rate), bucket.NewTable(rate)
	now := int64(time.Second)
	for n := range sources {
		hash := key.Address(address(n))
		from.Take(hash, now)
		if n%2 == 0 {
			from.Take(hash, now)
		}
	}
	if got := bucket.Buckets(from.Export(now, sources/4)); got != sources/4 {
		t.Errorf("%d buckets, want %d", got, sources/4)
	}
	data := from.Export(now+int64(time.Minute), 2*sources) // Every second one is full again.
	if got := bucket.Buckets(data); got != sources/2 {
		t.Errorf("%d buckets, want %d", got, sources/2)
	}
	data = from.Export(now, 2*sources)
	for range 2 { // Again, it changes nothing.
		if err := to.Import(data, epoch+now); err != nil {
			t.Fatal(err)
		}
	}
	if got := to.Sources(epoch + now); got != sources {
		t.Errorf("%d sources, want %d", got, sources)
	}
	for n := range sources {
		hash := key.Address(address(n))
		if v := to.Take(hash, epoch+now); v.Allowed != (n%2 == 1) {
			t.Fatalf("source %d: %+v", n, v)
		}
		if v := to.Take(hash, epoch+now); v.Allowed {
			t.Fatalf("source %d has a third token", n)
		}
	}
	fresh := bucket.NewTable(rate)
	if err := fresh.Import(data[:len(data)-1], epoch); err == nil || fresh.Sources(epoch) != 0 {
		t.Errorf("buckets that are cut off: %v", err)
	}
}

// TestImportIsBounded takes no longer for a bucket to be full than the rate allows.
func TestImportIsBounded(t *testing.T) {
	rate := bucket.NewRate(1, time.Second, 5)
	table := bucket.NewTable(rate)
	data := []byte{1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}
	if err := table.Import(append(data, make([]byte, 16)...), 0); err != nil {
		t.Fatal(err)
	}
	if v := table.Take(1, int64(time.Second)); !v.Allowed {
		t.Errorf("a second later: %+v", v)
	}
	if got := table.Sources(0); got != 1 {
		t.Errorf("%d sources", got)
	}
}

// TestKeysAreHidden shows no key, and rates as they are.
func TestKeysAreHidden(t *testing.T) {
	const hidden = "key of hashes"
	key := bucket.NewHashKey()
	if got := fmt.Sprintf("%v %#v %s", key, key, key); got != hidden+" "+hidden+" "+hidden {
		t.Errorf("got %s", got)
	}
	rate := bucket.NewRate(1, time.Second, 5).Ahead(time.Second)
	if got := rate.String(); got != "1000000000/5000000000/1000000000" {
		t.Errorf("got %s", got)
	}
}
