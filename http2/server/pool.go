package server

import (
	"net/http"
	"sync"
)

const (
	// readBytes holds a frame of the largest size that is accepted, and the beginning of others.
	readBytes = 32 << 10
	// writeBytes holds a small answer with its head.
	writeBytes = 8 << 10
	// pieceBytes is the size of the pieces that hold a body which waits to be read.
	pieceBytes = 4 << 10
	// keptFields is how many fields a header has at most whose map is reused.
	keptFields = 64
)

type (
	readBuffer  [readBytes]byte
	writeBuffer [writeBytes]byte
	piece       [pieceBytes]byte
)

// pools recycles the memory of a Server. The zero value is ready.
type pools struct {
	reads, writes, pieces sync.Pool
	// outs holds buffers of frames that wait to be written, of any size.
	outs sync.Pool
	// exchanges holds those whose handlers keep nothing.
	exchanges sync.Pool
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

func (p *pools) write() *writeBuffer {
	if recycled, ok := p.writes.Get().(*writeBuffer); ok {
		return recycled
	}
	return new(writeBuffer)
}

func (p *pools) putWrite(used *writeBuffer) {
	p.spoil(used[:])
	p.writes.Put(used)
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

func (p *pools) exchange() *exchange {
	if recycled, ok := p.exchanges.Get().(*exchange); ok {
		return recycled
	}
	return new(exchange)
}

// putExchange takes an exchange that has ended. Its maps are used again.
func (p *pools) putExchange(used *exchange) {
	fields, header := emptied(used.fields), emptied(used.response.header)
	*used = exchange{fields: fields, response: response{header: header}}
	if p.poison {
		used.guard.End() // Late calls find that it has ended.
		used.spoil()
		return
	}
	p.exchanges.Put(used)
}

// emptied returns the map without its fields, or nil where it has grown large.
func emptied(header http.Header) http.Header {
	if len(header) > keptFields {
		return nil
	}
	clear(header)
	return header
}

// spoil writes into all that could have been kept.
func (x *exchange) spoil() {
	const mark = "recycled"
	for i := range x.values {
		x.values[i] = mark
	}
	x.body.exchange = x
	x.request = http.Request{Method: mark, Host: mark, RequestURI: mark, RemoteAddr: mark}
	x.url.Path, x.url.RawQuery = mark, mark
	for _, header := range []http.Header{x.fields, x.response.header} {
		if header != nil {
			header[mark] = []string{mark}
		}
	}
}

func (p *pools) spoil(used []byte) {
	if p.poison {
		for i := range used {
			used[i] = 0xdb
		}
	}
}
