package buffer

import "io"

// Body holds the bytes of a body that have come and were not read. The zero value is empty. Its user holds a lock.
type Body struct {
	// pieces hold the bytes from the offset first of the first one to the offset last of the last one.
	pieces      []*piece
	first, last int
}

// Empty reports whether there is nothing to read.
func (b *Body) Empty() bool { return len(b.pieces) == 0 }

// Len returns how many bytes there are.
func (b *Body) Len() int {
	if len(b.pieces) == 0 {
		return 0
	}
	return (len(b.pieces)-1)*pieceBytes - b.first + b.last
}

// Add appends bytes.
func (b *Body) Add(pools *Pools, p []byte) {
	for len(p) > 0 {
		if len(b.pieces) == 0 || b.last == pieceBytes {
			b.pieces, b.last = append(b.pieces, pools.piece()), 0
		}
		n := copy(b.pieces[len(b.pieces)-1][b.last:], p)
		b.last += n
		p = p[n:]
	}
}

// Take moves bytes to p, and returns how many.
func (b *Body) Take(pools *Pools, p []byte) (n int) {
	for n < len(p) && len(b.pieces) > 0 {
		m := copy(p[n:], b.front())
		n += m
		if b.first += m; len(b.front()) == 0 {
			b.drop(pools)
		}
	}
	return n
}

// Move moves all bytes to another body, which must be empty. The memory that holds the pieces goes the other way.
func (b *Body) Move(to *Body) {
	b.pieces, to.pieces = to.pieces[:0], b.pieces
	to.first, to.last = b.first, b.last
	b.first, b.last = 0, 0
}

// WriteTo writes all bytes to w, and drops those behind an error. It returns how many were written.
func (b *Body) WriteTo(pools *Pools, w io.Writer) (written int, err error) {
	for i, one := range b.pieces {
		p := one[b.first:]
		if i == len(b.pieces)-1 {
			p = one[b.first:b.last]
		}
		if err == nil {
			var n int
			n, err = w.Write(p)
			if written += n; err == nil && n < len(p) {
				err = io.ErrShortWrite
			}
		}
		pools.putPiece(one)
		b.pieces[i], b.first = nil, 0
	}
	b.pieces, b.last = b.pieces[:0], 0
	return written, err
}

// Release drops all bytes.
func (b *Body) Release(pools *Pools) {
	for i, one := range b.pieces {
		pools.putPiece(one)
		b.pieces[i] = nil
	}
	*b = Body{}
}

// front returns what is left of the first piece.
func (b *Body) front() []byte {
	if len(b.pieces) == 1 {
		return b.pieces[0][b.first:b.last]
	}
	return b.pieces[0][b.first:]
}

// drop gives the first piece back, which has been read.
func (b *Body) drop(pools *Pools) {
	pools.putPiece(b.pieces[0])
	b.pieces[0] = nil
	b.pieces, b.first = b.pieces[1:], 0
}
