package storage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
)

// silent is a storage that cannot be reached.
type silent struct{ storage.Reader }

func (silent) Watch(ctx context.Context, _ func([]storage.Change)) error {
	<-ctx.Done()
	return nil
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	memory := storagetest.NewMemory()
	if values, err := storage.Snapshot(t.Context(), memory); err != nil || values == nil || len(values) != 0 {
		t.Errorf("an empty storage: %v, %v", values, err)
	}
	key := storage.Key{Kind: storage.KindDemand, ID: "shop.example.com"}
	if err := memory.Put(t.Context(), key, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if values, err := storage.Snapshot(t.Context(), memory); err != nil || string(values[key]) != "{}" {
		t.Errorf("%v, %v", values, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := storage.Snapshot(ctx, silent{}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a storage that does not answer: %v", err)
	}
}
