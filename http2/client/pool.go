package client

import "sync"

const (
	// readBytes holds a frame of the largest size that is accepted, and the beginning of others. It is how much of a
	// request's body is read at a time, too.
	readBytes = 32 << 10
	// pieceBytes is the size of the pieces that hold a body which waits to be read.
	pieceBytes = 4 << 10
	// headBytes is the size of a buffer for a head with a small body.
	headBytes = 4 << 10
	// outBytes is the size of a new buffer of frames.
	outBytes = 4 << 10
)

type (
	readBuffer [readBytes]byte
	headBuffer [headBytes]byte
	piece      [pieceBytes]byte
)

// pools recycles memory. The zero value is ready.
type pools struct {
	reads, heads, pieces, outs sync.Pool
	// poison overwrites what is given back, so that tests detect uses after that.
	poison bool
}

func (p *pools) read() *readBuffer {
	if recycled, ok := p.reads.Get().(*readBuffer); ok {
		return recycled
	}
	return new(readBuffer)
}

func (p *pools) putRead(used *readBuffer) {
	p.spoil(used[:])
	p.reads.Put(used)
}

func (p *pools) head() *headBuffer {
	if recycled, ok := p.heads.Get().(*headBuffer); ok {
		return recycled
	}
	return new(headBuffer)
}

func (p *pools) putHead(used *headBuffer) {
	p.spoil(used[:])
	p.heads.Put(used)
}

func (p *pools) piece() *piece {
	if recycled, ok := p.pieces.Get().(*piece); ok {
		return recycled
	}
	return new(piece)
}

func (p *pools) putPiece(used *piece) {
	p.spoil(used[:])
	p.pieces.Put(used)
}

// out returns an empty buffer of frames.
func (p *pools) out() *[]byte {
	if recycled, ok := p.outs.Get().(*[]byte); ok {
		return recycled
	}
	b := make([]byte, 0, outBytes)
	return &b
}

func (p *pools) putOut(used *[]byte) {
	if cap(*used) > 2*maxOut {
		return
	}
	p.spoil((*used)[:cap(*used)])
	*used = (*used)[:0]
	p.outs.Put(used)
}

func (p *pools) spoil(used []byte) {
	if p.poison && len(used) > 0 {
		used[0] = 0xdb
		for n := 1; n < len(used); n *= 2 {
			copy(used[n:], used[:n])
		}
	}
}
