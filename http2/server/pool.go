package server

import (
	"net/http"
	"sync"

	"github.com/sluiceproxy/sluice/http2/buffer"
)

const (
	// writeBytes holds a small answer with its head.
	writeBytes = 8 << 10
	// keptFields is how many fields a header has at most whose map is reused.
	keptFields = 64
)

type writeBuffer [writeBytes]byte

// pools recycles the memory of a Server. The zero value is ready.
type pools struct {
	buffer.Pools

	writes sync.Pool
	// exchanges holds those whose handlers keep nothing.
	exchanges sync.Pool
}

func (p *pools) write() *writeBuffer {
	if recycled, ok := p.writes.Get().(*writeBuffer); ok {
		return recycled
	}
	return new(writeBuffer)
}

func (p *pools) putWrite(used *writeBuffer) {
	p.Spoil(used[:])
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
	if p.Poison {
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
