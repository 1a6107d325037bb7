package service

import "sync/atomic"

// DefaultMemory is how many bytes of request bodies are kept at most over all services, when no other figure is given:
// 64 MiB. A body whose option sets no limit of its own ends there.
const DefaultMemory = 64 << 20

// Memory bounds how much of request bodies is kept for a second use, over all services that share it. What does not fit is
// passed on and not kept: nobody waits.
type Memory struct{ left atomic.Int64 }

// NewMemory returns a bound of that many bytes.
func NewMemory(bytes int64) *Memory {
	m := &Memory{}
	m.left.Store(bytes)
	return m
}

// take reserves bytes, if there are as many.
func (m *Memory) take(bytes int64) bool {
	if m.left.Add(-bytes) >= 0 {
		return true
	}
	m.left.Add(bytes)
	return false
}

func (m *Memory) give(bytes int64) { m.left.Add(bytes) }
