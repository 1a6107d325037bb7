package loadbalancer

import (
	"fmt"
	"runtime"
	"testing"
)

// TestAPoolThatGrowsServerByServer holds on to one specification for each server, not to those of each time before.
func TestAPoolThatGrowsServerByServer(t *testing.T) {
	b := newRig(t, nil)
	const count = 800
	var all []ServerSpec
	for i := range count {
		all = append(all, inline(fmt.Sprintf("192.0.%d.%d:80", i/250, i%250+1), 1))
	}
	live := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	dialer := newLine()
	pool := b.pool(PoolSpec{Name: "a", Dialer: dialer, Servers: all[:1]})
	before := live()
	for n := range count {
		b.Configure(pool, PoolSpec{Name: "a", Dialer: dialer, Servers: append([]ServerSpec(nil), all[:n+1]...)})
	}
	if grown := live() - before; grown > 8<<20 {
		t.Errorf("%d servers take %d bytes", count, grown)
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(b)
}
