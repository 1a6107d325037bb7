package replay

import (
	"sync"
	"sync/atomic"
)

const (
	// smallBytes is enough for most forms and RPCs.
	smallBytes = 4 << 10
	// bufferBytes limits both the number of reads and the memory of a thousand bodies at a time.
	bufferBytes = 32 << 10
)

// Buffer is a recycled buffer, also for copying bodies.
type Buffer [bufferBytes]byte

type smallBuffer [smallBytes]byte

// Memory lends the memory of bodies, and recycles it. The zero value has no bound.
type Memory struct {
	bounded      bool
	left         atomic.Int64
	small, large sync.Pool
}

// NewMemory returns a Memory that lends at most so many bytes at a time, Buffers apart. A body beyond the bound is
// not buffered; none waits.
func NewMemory(bytes int64) *Memory {
	m := &Memory{bounded: true}
	m.left.Store(bytes)
	return m
}

// Left returns how many bytes are not lent, if the Memory is bounded.
func (m *Memory) Left() int64 { return m.left.Load() }

// Buffer returns a buffer, for Recycle. A nil Memory allocates it.
func (m *Memory) Buffer() *Buffer {
	if m != nil {
		if recycled, ok := m.large.Get().(*Buffer); ok {
			return recycled
		}
	}
	return new(Buffer)
}

// Recycle takes a buffer back that is no longer used.
func (m *Memory) Recycle(used *Buffer) {
	if m != nil {
		m.large.Put(used)
	}
}

// grow returns data in memory for need bytes, and takes its old memory back. At most so many bytes are ever needed,
// and so many are expected; 0 or less is unknown. It returns false if the bound forbids that, unless the memory must
// be lent. A nil Memory has no bound and recycles nothing.
func (m *Memory) grow(data []byte, need, most, expected int64, must bool) ([]byte, bool) {
	size := max(need, 2*int64(cap(data)), min(expected, bufferBytes), smallBytes)
	if most >= need {
		size = min(size, most)
	}
	if m != nil {
		switch {
		case size <= smallBytes:
			size = smallBytes
		case size <= bufferBytes:
			size = bufferBytes
		}
	}
	var grown []byte
	switch {
	case m == nil:
		grown = make([]byte, 0, size)
	case m.bounded && m.left.Add(-size) < 0 && !must:
		m.left.Add(size)
		return data, false
	case size == smallBytes:
		if recycled, ok := m.small.Get().(*smallBuffer); ok {
			grown = recycled[:0]
		} else {
			grown = new(smallBuffer)[:0]
		}
	case size == bufferBytes:
		grown = m.Buffer()[:0]
	default:
		grown = make([]byte, 0, size)
	}
	grown = append(grown, data...)
	m.free(data)
	return grown, true
}

// free takes the memory of data back.
func (m *Memory) free(data []byte) {
	if m == nil || cap(data) == 0 {
		return
	}
	if m.bounded {
		m.left.Add(int64(cap(data)))
	}
	switch data = data[:cap(data)]; len(data) {
	case smallBytes:
		m.small.Put((*smallBuffer)(data))
	case bufferBytes:
		m.large.Put((*Buffer)(data))
	}
}
