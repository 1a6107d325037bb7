package overload_test

import (
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/overload"
)

func TestUsedPartOfTheLimit(t *testing.T) {
	usage := overload.Usage{}
	monitor := overload.Memory(1000, 0, func() overload.Usage { return usage }, func() {})
	now := time.Now()
	for bytes, want := range map[uint64]float64{0: 0, 250: 0.25, 1000: 1, 2000: 2} {
		usage = overload.Usage{Bytes: bytes, GCSeconds: float64(bytes), CPUSeconds: float64(bytes)}
		if got := monitor.Pressure(now); got != want {
			t.Errorf("%d bytes are a pressure of %v, want %v", bytes, got, want)
		}
	}
}

// TestShareOfTheCollector has a collector that takes a share of the time without a break.
func TestShareOfTheCollector(t *testing.T) {
	usage := overload.Usage{Bytes: 100}
	monitor := overload.Memory(1000, 40, func() overload.Usage { return usage }, func() {})
	now := time.Now()
	spend := func(share float64, seconds int) (pressure float64) {
		for range seconds * 10 {
			now = now.Add(interval)
			usage.GCSeconds += share * 0.4
			usage.CPUSeconds += 0.4
			pressure = monitor.Pressure(now)
		}
		return pressure
	}
	monitor.Pressure(now)
	if got := spend(1, 1); got > 0.5 {
		t.Errorf("a second of collection is a pressure of %v", got)
	}
	if got := spend(0.4, 60); math.Abs(got-0.9) > 0.01 {
		t.Errorf("40 percent are a pressure of %v, want 0.9", got)
	}
	if got := spend(0.2, 60); math.Abs(got-0.45) > 0.01 {
		t.Errorf("20 percent are a pressure of %v, want 0.45", got)
	}
	if got := spend(0, 60); got != 0.1 {
		t.Errorf("without collections the pressure is %v, want that of the memory", got)
	}
	usage.CPUSeconds, usage.GCSeconds = 0, 0
	if got := monitor.Pressure(now.Add(interval)); got != 0.1 {
		t.Errorf("counters that went back are a pressure of %v", got)
	}
}

// TestFreedMemoryEndsThePressure has memory become free that no collection of the runtime would find.
func TestFreedMemoryEndsThePressure(t *testing.T) {
	usage := overload.Usage{Bytes: 970}
	collections := 0
	monitor := overload.Memory(1000, 0, func() overload.Usage { return usage }, func() {
		collections++
		usage.Bytes, usage.Collections = 400, usage.Collections+1
	})
	now := time.Now()
	for range 20 {
		if got := monitor.Pressure(now); got != 0.97 {
			t.Fatalf("before a collection the pressure is %v", got)
		}
		now = now.Add(interval)
	}
	monitor.Pressure(now)
	for range 100 {
		now = now.Add(interval)
		if got := monitor.Pressure(now); got != 0.4 {
			t.Fatalf("after a collection the pressure is %v", got)
		}
	}
	if collections != 1 {
		t.Errorf("%d collections", collections)
	}
}

// TestGarbageIsNoPressure reads the usage of this process.
func TestGarbageIsNoPressure(t *testing.T) {
	read := overload.RuntimeUsage()
	runtime.GC()
	before := read()
	held := make([]byte, 64<<20)
	runtime.GC()
	during := read()
	runtime.KeepAlive(held)
	runtime.GC()
	after := read()
	if before.Bytes == 0 || during.Bytes < before.Bytes+60<<20 {
		t.Errorf("%d bytes, and %d with 64 MiB more", before.Bytes, during.Bytes)
	}
	if after.Bytes > during.Bytes-60<<20 {
		t.Errorf("%d bytes with 64 MiB alive, and %d without", during.Bytes, after.Bytes)
	}
	if after.GCSeconds <= 0 || after.CPUSeconds < after.GCSeconds {
		t.Errorf("%v of %v CPU seconds", after.GCSeconds, after.CPUSeconds)
	}
}

// TestGrowthIsSeen has memory grow that the runtime would not collect for long, so that what lives is not known.
func TestGrowthIsSeen(t *testing.T) {
	for _, test := range []struct {
		bytes, fresh uint64
		collected    bool
	}{
		{300, 0, false},
		{300, 199, false},
		{300, 201, true},
		{480, 21, false}, // Less than a sixteenth.
		{600, 62, false},
		{600, 63, true},
	} {
		collections := 0
		usage := overload.Usage{Bytes: test.bytes, Fresh: test.fresh}
		monitor := overload.Memory(1000, 0, func() overload.Usage { return usage }, func() {
			collections++
			usage = overload.Usage{Bytes: test.bytes + test.fresh, Collections: usage.Collections + 1} // All of it lives.
		})
		want := float64(test.bytes) / 1000
		if test.collected {
			want += float64(test.fresh) / 1000
		}
		if got := monitor.Pressure(time.Now()); got != want || collections > 0 != test.collected {
			t.Errorf("%d bytes and %d fresh ones: pressure %v, %d collections", test.bytes, test.fresh, got, collections)
		}
	}
}

// TestCollectionsTakeLittleOfTheTime has collections that take a second each.
func TestCollectionsTakeLittleOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage, collections := overload.Usage{Bytes: 900, Fresh: 100}, 0
		monitor := overload.Memory(1000, 0, func() overload.Usage { return usage }, func() {
			collections++
			usage.Collections++
			pass(time.Second)
		})
		began := time.Now()
		for time.Since(began) < time.Minute {
			monitor.Pressure(time.Now())
			pass(interval)
		}
		if collections < 8 || collections > 12 {
			t.Errorf("%d collections of a second in a minute", collections)
		}
	})
}
