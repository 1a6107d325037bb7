package http1

import "sync"

// clientBuffers recycles memory. The zero value is ready.
type clientBuffers struct {
	pages    sync.Pool
	expanses sync.Pool
	vasts    sync.Pool
	// poison overwrites what is given back, so that a test sees who still looks at it.
	poison bool
}

// poisoned is what poison writes.
const poisoned = 0xdb

func (b *clientBuffers) page() *page {
	if recycled, ok := b.pages.Get().(*page); ok {
		return recycled
	}
	return new(page)
}

// putPage takes a page back; nil is none.
func (b *clientBuffers) putPage(used *page) {
	if used == nil {
		return
	}
	b.spoil(used[:])
	b.pages.Put(used)
}

func (b *clientBuffers) expanse() *expanse {
	if recycled, ok := b.expanses.Get().(*expanse); ok {
		return recycled
	}
	return new(expanse)
}

// putExpanse takes an expanse back; nil is none.
func (b *clientBuffers) putExpanse(used *expanse) {
	if used == nil {
		return
	}
	b.spoil(used[:])
	b.expanses.Put(used)
}

func (b *clientBuffers) vast() *vast {
	if recycled, ok := b.vasts.Get().(*vast); ok {
		return recycled
	}
	return new(vast)
}

// putVast takes a vast back; nil is none.
func (b *clientBuffers) putVast(used *vast) {
	if used == nil {
		return
	}
	b.spoil(used[:])
	b.vasts.Put(used)
}

func (b *clientBuffers) spoil(used []byte) {
	if b.poison {
		for i := range used {
			used[i] = poisoned
		}
	}
}
