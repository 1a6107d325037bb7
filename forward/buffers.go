package forward

import "sync"

// bufferSize is large enough that a body costs few calls and small enough for a thousand of them at a time.
const bufferSize = 32 << 10

// buffers recycles the buffers that bodies are copied through. The zero value is ready.
type buffers struct{ pool sync.Pool }

type buffer [bufferSize]byte

func (b *buffers) get() *buffer {
	if recycled, ok := b.pool.Get().(*buffer); ok {
		return recycled
	}
	return new(buffer)
}

func (b *buffers) put(used *buffer) { b.pool.Put(used) }
