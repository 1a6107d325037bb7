package http1

import "sync"

const (
	// readBytes holds nearly every head; a larger one gets a buffer of its own, which is not kept.
	readBytes = 4 << 10
	// writeBytes holds a small answer with its head.
	writeBytes = 8 << 10
)

// serverPool recycles the buffers of a Server. The zero value is ready.
type serverPool struct {
	reads  sync.Pool
	writes sync.Pool
	// poison overwrites what is given back, so that a test sees who still looks at it.
	poison bool
}

func (p *serverPool) read() *[readBytes]byte {
	if recycled, ok := p.reads.Get().(*[readBytes]byte); ok {
		return recycled
	}
	return new([readBytes]byte)
}

func (p *serverPool) putRead(used *[readBytes]byte) {
	p.spoil(used[:])
	p.reads.Put(used)
}

func (p *serverPool) write() *[writeBytes]byte {
	if recycled, ok := p.writes.Get().(*[writeBytes]byte); ok {
		return recycled
	}
	return new([writeBytes]byte)
}

func (p *serverPool) putWrite(used *[writeBytes]byte) {
	p.spoil(used[:])
	p.writes.Put(used)
}

func (p *serverPool) spoil(used []byte) {
	if p.poison {
		for i := range used {
			used[i] = poisoned
		}
	}
}
