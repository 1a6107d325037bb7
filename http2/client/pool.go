package client

import (
	"sync"

	"github.com/sluiceproxy/sluice/http2/buffer"
)

// headBytes is the size of a buffer for a head with a small body.
const headBytes = 4 << 10

type headBuffer [headBytes]byte

// pools recycles memory. The zero value is ready.
type pools struct {
	buffer.Pools

	heads sync.Pool
}

func (p *pools) head() *headBuffer {
	if recycled, ok := p.heads.Get().(*headBuffer); ok {
		return recycled
	}
	return new(headBuffer)
}

func (p *pools) putHead(used *headBuffer) {
	p.Spoil(used[:])
	p.heads.Put(used)
}
