package forward

import "sync"

const (
	// bufferSize keeps the number of reads low and the memory of a thousand bodies at a time bounded.
	bufferSize = 32 << 10
	// smallSize is enough for most forms and RPCs.
	smallSize = 4 << 10
)

// buffers recycles the buffers that bodies are copied through and kept in. The zero value is ready.
type buffers struct{ pool, smallBuffers sync.Pool }

type (
	buffer      [bufferSize]byte
	smallBuffer [smallSize]byte
)

func (b *buffers) get() *buffer {
	if recycled, ok := b.pool.Get().(*buffer); ok {
		return recycled
	}
	return new(buffer)
}

func (b *buffers) put(used *buffer) { b.pool.Put(used) }

func (b *buffers) smallBuffer() *smallBuffer {
	if recycled, ok := b.smallBuffers.Get().(*smallBuffer); ok {
		return recycled
	}
	return new(smallBuffer)
}

// memory is a recycled buffer of one size or the other, or none.
type memory struct {
	pool  *buffers
	small *smallBuffer
	large *buffer
}

// take returns an empty buffer, with room for the length unless that is unknown or large.
func (m *memory) take(length int64) []byte {
	if 0 <= length && length <= smallSize {
		m.small = m.pool.smallBuffer()
		return m.small[:0]
	}
	m.large = m.pool.get()
	return m.large[:0]
}

// free recycles the buffer.
func (m *memory) free() {
	if m.small != nil {
		m.pool.smallBuffers.Put(m.small)
	}
	if m.large != nil {
		m.pool.put(m.large)
	}
	m.small, m.large = nil, nil
}
