package server

import (
	"net/http"
	"sync"
)

const (
	// readBytes holds nearly every head; a larger one gets a buffer of its own, which is not kept.
	readBytes = 4 << 10
	// writeBytes holds a small answer with its head.
	writeBytes = 8 << 10
	// poisoned is what poison writes.
	poisoned = 0xdb
	// keptFields is how many fields a header has at most whose map is reused: a map that a large header has grown is not.
	keptFields = 64
)

// pools recycles the buffers of a Server. The zero value is ready.
type pools struct {
	reads  sync.Pool
	writes sync.Pool
	// exchanges holds those whose handlers keep nothing.
	exchanges sync.Pool
	// poison overwrites what is given back, so that tests detect uses after that.
	poison bool
}

func (p *pools) read() *[readBytes]byte {
	if recycled, ok := p.reads.Get().(*[readBytes]byte); ok {
		return recycled
	}
	return new([readBytes]byte)
}

func (p *pools) putRead(used *[readBytes]byte) {
	p.spoil(used[:])
	p.reads.Put(used)
}

func (p *pools) write() *[writeBytes]byte {
	if recycled, ok := p.writes.Get().(*[writeBytes]byte); ok {
		return recycled
	}
	return new([writeBytes]byte)
}

func (p *pools) putWrite(used *[writeBytes]byte) {
	p.spoil(used[:])
	p.writes.Put(used)
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
		// Late calls find that it has ended.
		used.guard.End()
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
			used[i] = poisoned
		}
	}
}
