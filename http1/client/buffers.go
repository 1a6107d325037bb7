package client

import "sync"

// buffers recycles memory. The zero value is ready.
type buffers struct {
	smallPool  sync.Pool
	mediumPool sync.Pool
	largePool  sync.Pool
	// poison overwrites what is given back, so that tests detect uses after that.
	poison bool
}

// poisoned is what poison writes.
const poisoned = 0xdb

func (b *buffers) small() *smallBuf {
	if recycled, ok := b.smallPool.Get().(*smallBuf); ok {
		return recycled
	}
	return new(smallBuf)
}

// putSmall takes a smallBuf back; nil is none.
func (b *buffers) putSmall(used *smallBuf) {
	if used == nil {
		return
	}
	b.spoil(used[:])
	b.smallPool.Put(used)
}

func (b *buffers) medium() *mediumBuf {
	if recycled, ok := b.mediumPool.Get().(*mediumBuf); ok {
		return recycled
	}
	return new(mediumBuf)
}

// putMedium takes an mediumBuf back; nil is none.
func (b *buffers) putMedium(used *mediumBuf) {
	if used == nil {
		return
	}
	b.spoil(used[:])
	b.mediumPool.Put(used)
}

func (b *buffers) large() *largeBuf {
	if recycled, ok := b.largePool.Get().(*largeBuf); ok {
		return recycled
	}
	return new(largeBuf)
}

// putLarge takes a largeBuf back; nil is none.
func (b *buffers) putLarge(used *largeBuf) {
	if used == nil {
		return
	}
	b.spoil(used[:])
	b.largePool.Put(used)
}

func (b *buffers) spoil(used []byte) {
	if b.poison {
		for i := range used {
			used[i] = poisoned
		}
	}
}
