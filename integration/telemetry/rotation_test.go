package telemetry

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestRotationLosesNoLine moves the file away and sends SIGUSR1 while requests come over every protocol.
func TestRotationLosesNoLine(t *testing.T) {
	t.Parallel()
	w := start(t, accessFile, nil)
	var answered atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for p, protocol := range harness.Protocols() {
		client := w.client(t, protocol, "shop.test")
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := ask(client, client.Request(http.MethodGet, "/bytes?size=10", nil), fmt.Sprintf("load-%d-%d", p,
					n)); err != nil {
					t.Errorf("%s: %v", protocol, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	const rotations = 6
	for i := range rotations {
		if err := os.Rename(filepath.Join(w.sluice.Dir, "access.log"), filepath.Join(w.sluice.Dir, fmt.Sprint("access.log.",
			i))); err != nil {
			t.Fatal(err)
		}
		w.sluice.Signal(syscall.SIGUSR1)
		harness.Until(t, "lines are in the new file", func() bool { return w.file(t, "access.log") != "" })
	}
	close(stop)
	load.Wait()
	w.sluice.Stop()
	text := w.file(t, "access.log")
	for i := range rotations {
		text += w.file(t, fmt.Sprint("access.log.", i))
	}
	seen := map[any]int{}
	for _, one := range lines(t, text) {
		if one["RouterName"] == "shop@file" {
			seen[one["RequestId"]]++
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%v is there %d times", id, times)
		}
	}
	if int64(len(seen)) != answered.Load() || len(seen) < 100 {
		t.Errorf("%d lines for %d requests", len(seen), answered.Load())
	}
}
