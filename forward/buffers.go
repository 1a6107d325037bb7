package forward

import "sync"

const (
	// bufferSize is large enough that a body costs few calls and small enough for a thousand of them at a time.
	bufferSize = 32 << 10
	// slipSize is enough for what forms and calls of procedures send.
	slipSize = 4 << 10
)

// buffers recycles the buffers that bodies are copied through and kept in. The zero value is ready.
type buffers struct{ pool, slips sync.Pool }

type (
	buffer [bufferSize]byte
	slip   [slipSize]byte
)

func (b *buffers) get() *buffer {
	if recycled, ok := b.pool.Get().(*buffer); ok {
		return recycled
	}
	return new(buffer)
}

func (b *buffers) put(used *buffer) { b.pool.Put(used) }

func (b *buffers) slip() *slip {
	if recycled, ok := b.slips.Get().(*slip); ok {
		return recycled
	}
	return new(slip)
}

// memory is a recycled buffer of one size or another, or none.
type memory struct {
	pool  *buffers
	small *slip
	large *buffer
}

// take returns empty room, enough for the length unless that is unknown or large.
func (m *memory) take(length int64) []byte {
	if 0 <= length && length <= slipSize {
		m.small = m.pool.slip()
		return m.small[:0]
	}
	m.large = m.pool.get()
	return m.large[:0]
}

// free gives back what was taken.
func (m *memory) free() {
	if m.small != nil {
		m.pool.slips.Put(m.small)
	}
	if m.large != nil {
		m.pool.put(m.large)
	}
	m.small, m.large = nil, nil
}
