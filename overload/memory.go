package overload

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// gcWindow is the time over which the share of the collector is averaged: one collection of a large heap is no
// thrashing.
const gcWindow = 5 * time.Second

// Above the used part staleFrom of the limit, garbage is collected once the last collection is staleAfter old, or a
// part freshShare of the limit has been allocated since. A collection of a large heap takes long: collectShare is how
// much of the time is spent so at most.
const (
	staleFrom    = 0.5
	staleAfter   = 2 * time.Second
	freshShare   = 1.0 / 16
	collectShare = 0.2
)

// atOption is the pressure where a measured value reaches its option.
const atOption = 0.9

// Usage is the use of memory of the process, and of CPU time for it.
type Usage struct {
	// Bytes is the memory that cannot be freed: what the last collection found alive, and what is no heap.
	Bytes uint64
	// Fresh is what the heap has grown by since that collection, in bytes: it may be garbage.
	Fresh uint64
	// Collections is the number of garbage collections since the process began.
	Collections uint64
	// GCSeconds is the CPU time that garbage collection has taken since the process began, without what was idle anyway,
	// and CPUSeconds all that there was.
	GCSeconds, CPUSeconds float64
}

// memory is the monitor of Memory.
type memory struct {
	limit   int64
	gcShare float64
	read    func() Usage
	collect func()

	// collected is when the last collection was seen, and rested when the next one may be demanded.
	collected, rested time.Time
	// before is the last usage, at the time sampled, and collecting the average share of the collector.
	before     Usage
	sampled    time.Time
	collecting float64
}

// Memory returns a monitor of the memory of the process. Its pressure is the higher one of two: the used part of the
// limit, which is in bytes and above 0, and the average share of the CPU time that garbage collection takes in five
// seconds, where gcShare percent are a pressure of 0.9; 0 leaves that out. A nil read is RuntimeUsage.
//
// While more than half of the limit is used, the monitor has garbage collected two seconds after the last collection:
// under a process that refuses requests little is allocated, and the runtime would find what has become free minutes
// later. It does so too when a sixteenth of the limit has been allocated since, so that growth is seen before the
// limit is reached. A fifth of the time is spent so at most. A nil collect is [runtime.GC].
func Memory(limit int64, gcShare int, read func() Usage, collect func()) Monitor {
	if read == nil {
		read = RuntimeUsage()
	}
	if collect == nil {
		collect = runtime.GC
	}
	return &memory{limit: limit, gcShare: float64(gcShare) / 100, read: read, collect: collect}
}

// Pressure implements Monitor.
func (m *memory) Pressure(now time.Time) float64 {
	usage := m.read()
	if m.collected.IsZero() || usage.Collections != m.before.Collections {
		m.collected = now
	}
	m.before.Collections = usage.Collections
	if m.stale(usage, now) {
		began := time.Now()
		m.collect()
		m.rested = now.Add(time.Duration(float64(time.Since(began)) / collectShare))
		usage = m.read()
		m.collected, m.before.Collections = now, usage.Collections
	}
	used := float64(usage.Bytes) / float64(m.limit)
	if m.gcShare == 0 {
		return used
	}
	if spent := usage.CPUSeconds - m.before.CPUSeconds; !m.sampled.IsZero() && spent > 0 {
		share := min(max((usage.GCSeconds-m.before.GCSeconds)/spent, 0), 1)
		weight := 1 - math.Exp(-now.Sub(m.sampled).Seconds()/gcWindow.Seconds())
		m.collecting += (share - m.collecting) * min(max(weight, 0), 1)
	}
	m.before, m.sampled = usage, now
	return max(used, m.collecting/m.gcShare*atOption)
}

// stale reports whether the last collection says little about the memory in use.
func (m *memory) stale(usage Usage, now time.Time) bool {
	limit, fresh := float64(m.limit), float64(usage.Fresh)
	if float64(usage.Bytes)+fresh <= staleFrom*limit || now.Before(m.rested) {
		return false
	}
	return fresh > freshShare*limit || now.Sub(m.collected) >= staleAfter
}

// RuntimeUsage returns a function that reads the usage of this process; what the runtime does not measure is 0. The
// function is not for concurrent use.
func RuntimeUsage() func() Usage {
	names := [...]string{
		"/memory/classes/total:bytes",
		// What can be used again or belongs to the system.
		"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes",
		"/memory/classes/heap/objects:bytes",
		"/gc/heap/live:bytes",
		"/cpu/classes/gc/total:cpu-seconds", "/cpu/classes/gc/mark/idle:cpu-seconds", "/cpu/classes/total:cpu-seconds",
		"/gc/cycles/total:gc-cycles",
	}
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	return func() Usage {
		metrics.Read(samples)
		bytes, objects, live := number(samples[0].Value), number(samples[4].Value), number(samples[5].Value)
		for _, freed := range samples[1:5] {
			bytes -= number(freed.Value)
		}
		return Usage{
			Bytes: uint64(max(bytes+live, 0)), Fresh: uint64(max(objects-live, 0)),
			GCSeconds:  number(samples[6].Value) - number(samples[7].Value),
			CPUSeconds: number(samples[8].Value), Collections: uint64(number(samples[9].Value)),
		}
	}
}

// number returns the value of a metric, 0 if the runtime does not have it.
func number(value metrics.Value) float64 {
	switch value.Kind() {
	case metrics.KindUint64:
		return float64(value.Uint64())
	case metrics.KindFloat64:
		return value.Float64()
	}
	return 0
}
