// Package buffer is the memory of both ends of an HTTP/2 connection: recycled buffers, and bodies that wait to be read.
package buffer

import "sync"

const (
	// ReadBytes holds a frame of the largest size that is accepted, and the beginning of others.
	ReadBytes = 32 << 10
	// pieceBytes is the size of the pieces that hold a body which waits to be read.
	pieceBytes = 4 << 10
	// frameBytes is the size of a new buffer of frames, and mostFrameBytes that of the largest one that is kept.
	frameBytes, mostFrameBytes = 4 << 10, 128 << 10
	// poisoned is what Spoil writes.
	poisoned = 0xdb
)

type (
	// Read is a buffer that frames are read into.
	Read  [ReadBytes]byte
	piece [pieceBytes]byte
)

// Pools recycles buffers. The zero value is ready, and must not be copied.
type Pools struct {
	// Poison overwrites what is given back, so that tests detect uses after that. It must not change after the first use.
	Poison bool

	reads, pieces, frames sync.Pool
}

// Read returns a buffer for reading.
func (p *Pools) Read() *Read {
	if recycled, ok := p.reads.Get().(*Read); ok {
		return recycled
	}
	return new(Read)
}

// PutRead takes a buffer for reading back.
func (p *Pools) PutRead(used *Read) {
	p.Spoil(used[:])
	p.reads.Put(used)
}

// Frames returns an empty buffer for frames that wait to be written.
func (p *Pools) Frames() *[]byte {
	if recycled, ok := p.frames.Get().(*[]byte); ok {
		return recycled
	}
	b := make([]byte, 0, frameBytes)
	return &b
}

// PutFrames takes a buffer for frames back.
func (p *Pools) PutFrames(used *[]byte) {
	if cap(*used) > mostFrameBytes {
		return
	}
	p.Spoil((*used)[:cap(*used)])
	*used = (*used)[:0]
	p.frames.Put(used)
}

func (p *Pools) piece() *piece {
	if recycled, ok := p.pieces.Get().(*piece); ok {
		return recycled
	}
	return new(piece)
}

func (p *Pools) putPiece(used *piece) {
	p.Spoil(used[:])
	p.pieces.Put(used)
}

// Spoil overwrites memory that is given back, where Poison says so.
func (p *Pools) Spoil(used []byte) {
	if !p.Poison || len(used) == 0 {
		return
	}
	used[0] = poisoned
	for n := 1; n < len(used); n *= 2 {
		copy(used[n:], used[:n])
	}
}
