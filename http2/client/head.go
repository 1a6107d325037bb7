package client

import (
	"net/http"
	"strings"

	"golang.org/x/net/http2/hpack"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
)

const (
	// fieldOverhead is what a field counts beside its name and its value (section 6.5.2).
	fieldOverhead = 32
	// maxFields bounds the fields of a head, whose cost in memory is a multiple of their bytes.
	maxFields = 1000
	// maxInterims bounds the informational responses before the final one, whose size in all is bounded like a head's.
	maxInterims = 64
)

// block is a head, or trailers, that is being read (RFC 9113, section 4.3).
type block struct {
	conn *clientConn
	// open says that CONTINUATION must follow.
	open   bool
	stream uint32
	flags  wire.Flags
	// bytes is how much has come of it, compressed; size how much it has decoded, as section 6.5.2 counts.
	bytes, size int

	// status is that of :status, or 0 for trailers. regular says that another field has come.
	status  int
	regular bool
	// length is Content-Length, or -1; announced says that there is a field Trailer, hopByHop that there are others that
	// concern one connection.
	length              int64
	announced, hopByHop bool
	fields              []http1wire.Field
	// refusal is the error of the stream that is known before the end of the block.
	refusal *wire.Error
}

// beginBlock handles HEADERS.
func (c *clientConn) beginBlock(h wire.Header, payload []byte) error {
	if err := c.known(h.Stream); err != nil {
		return err
	}
	payload, err := wire.Unpad(h, payload)
	if err != nil {
		return err
	}
	payload, err = wire.WithoutPriority(h, payload)
	if fault, ok := err.(*wire.Error); ok { //nolint:errorlint // as WithoutPriority returns it
		return wire.Fault(fault.Code, fault.Reason) // Priorities are not an endpoint's to send.
	}
	clear(c.block.fields) // The strings pin memory.
	c.block = block{conn: c, stream: h.Stream, flags: h.Flags, length: -1, fields: c.block.fields[:0]}
	return c.addBlock(payload)
}

// continueBlock handles CONTINUATION.
func (c *clientConn) continueBlock(h wire.Header, payload []byte) error {
	if !c.block.open {
		return wire.Fault(wire.ProtocolError, "CONTINUATION without a head (section 6.10)")
	}
	if err := c.flood.Take(1); err != nil {
		return err
	}
	c.block.flags |= h.Flags & wire.EndHeaders
	return c.addBlock(payload)
}

// addBlock decodes a part of the block.
func (c *clientConn) addBlock(fragment []byte) error {
	b := &c.block
	if b.bytes += len(fragment); b.bytes > c.upstream.config.MaxHeaderBytes {
		return wire.Fault(wire.EnhanceYourCalm, "a compressed head that is larger than a head may be (section 10.5.1)")
	}
	if _, err := c.decoder.Write(fragment); err != nil {
		return wire.DecodingFault(err)
	}
	if b.open = !b.flags.Has(wire.EndHeaders); b.open {
		return nil
	}
	if err := c.decoder.Close(); err != nil {
		return wire.DecodingFault(err)
	}
	return c.endBlock()
}

// malformed notes that the stream must be refused (section 8.1.1).
func (b *block) malformed(reason string) {
	if b.refusal == nil {
		b.refusal = wire.StreamFault(b.stream, wire.ProtocolError, reason)
		clear(b.fields)
		b.fields = b.fields[:0]
	}
}

// field takes a field.
func (b *block) field(f hpack.HeaderField) {
	if b.refusal != nil {
		return
	}
	b.size += len(f.Name) + len(f.Value) + fieldOverhead
	switch {
	case b.size > b.conn.upstream.config.MaxHeaderBytes || len(b.fields) >= maxFields:
		b.malformed("a head that is larger than it may be (section 10.5.1)")
	case len(f.Name) > 0 && f.Name[0] == ':':
		b.pseudo(f.Name, f.Value)
	default:
		b.add(f.Name, strings.Trim(f.Value, " \t"))
	}
}

// pseudo takes :status, which is the only one of its kind (section 8.3.2).
func (b *block) pseudo(name, value string) {
	switch {
	case name != ":status" || b.regular || b.status != 0:
		b.malformed("a pseudo-header field that is unknown, repeated or behind others (section 8.3)")
	case len(value) != 3 || value[0] < '1' || value[0] > '9' || !digit(value[1]) || !digit(value[2]):
		b.malformed("a status without three digits (section 8.3.2)")
	default:
		b.status = int(value[0]-'0')*100 + int(value[1]-'0')*10 + int(value[2]-'0')
	}
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// add takes another field. Those that concern a connection (section 8.2.2) are dropped: they have no meaning here.
func (b *block) add(name, value string) {
	b.regular = true
	if !wire.ValidName(name) || !http1wire.ValidValue(value) {
		b.malformed("a field that is no token in lower case, or whose value has control characters (section 8.2.1)")
		return
	}
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return
	case "content-length":
		length, ok := http1wire.ParseLength(value)
		if !ok || b.length >= 0 && b.length != length {
			b.malformed("content-length is not one number (section 8.1.1)")
			return
		}
		if b.length >= 0 {
			return
		}
		b.length = length
	case "trailer":
		b.announced = true
	case "te", "http2-settings", "proxy-authenticate", "proxy-authorization":
		b.hopByHop = true
	}
	b.fields = append(b.fields, http1wire.Field{Name: wire.Canonical(name), Value: value})
}

// endBlock handles a block that is complete.
func (c *clientConn) endBlock() error {
	b := &c.block
	if b.refusal != nil {
		if err := c.flood.Take(1); err != nil {
			return err
		}
		return c.refuse(b.refusal)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	rt := c.streams[b.stream]
	if rt == nil {
		return c.flood.Take(1) // It was reset, and this was on its way.
	}
	c.answered.Add(1)
	c.used, c.life.doubted = true, 0
	c.out.read = max(c.out.read, rt.position)
	if fault := rt.takeBlock(b); fault != nil {
		c.reset(rt, fault.Code, fault)
		return nil
	}
	return nil
}

// takeBlock takes a head or trailers. The mutex of the connection is held.
func (rt *RoundTrip) takeBlock(b *block) *wire.Error {
	last := b.flags.Has(wire.EndStream)
	malformed := func(reason string) *wire.Error { return wire.StreamFault(b.stream, wire.ProtocolError, reason) }
	switch {
	case rt.recv.ended:
		return wire.StreamFault(b.stream, wire.StreamClosed, "HEADERS behind the end of the response (section 5.1)")
	case rt.headed:
		if b.status != 0 || !last {
			return malformed("trailers with a status, or without END_STREAM (section 8.1)")
		}
		return rt.endOf(b.fields)
	case b.status == 0:
		return malformed("a response without :status (section 8.3.2)")
	case b.status == http.StatusSwitchingProtocols:
		return malformed("status 101 (section 8.6)")
	case b.status < http.StatusOK && last:
		return malformed("an informational response that ends the stream (section 8.1)")
	case b.status < http.StatusOK:
		rt.hints++
		rt.hintBytes += b.size
		if rt.hints > maxInterims || rt.hintBytes > rt.upstream.config.MaxHeaderBytes {
			return malformed(errInterim.Error())
		}
		rt.interims = append(rt.interims, interim{b.status, headerOf(b.fields, nil)})
		if b.status == http.StatusContinue {
			rt.continued = true
			rt.sendable.Signal()
		}
	default:
		rt.head(b)
		if last {
			return rt.endOf(nil)
		}
	}
	rt.conn.stir(rt)
	return nil
}

// head takes the head of the final response. The mutex of the connection is held.
func (rt *RoundTrip) head(b *block) {
	r := &rt.response
	rt.headed = true
	rt.sendable.Signal() // The upload may wait for 100.
	r.StatusCode, rt.recv.declared = b.status, b.length
	if rt.request.Method == http.MethodHead || http1wire.BodilessStatus(b.status) {
		rt.recv.declared, rt.bodiless = 0, true
	}
	r.ContentLength, rt.hopByHop = b.length, b.hopByHop
	if rt.List != nil && !b.announced && !b.hopByHop {
		rt.fields = append(rt.List[:0], b.fields...)
		return
	}
	own := rt.Header
	if rt.hints > 0 {
		own = nil // Informational may be using it.
	}
	r.Header = headerOf(b.fields, own)
	if b.announced {
		for _, list := range r.Header["Trailer"] {
			for name := range strings.SplitSeq(list, ",") {
				rt.announce(http.CanonicalHeaderKey(strings.Trim(name, " \t")))
			}
		}
		delete(r.Header, "Trailer")
	}
}

// announce notes the name of a trailer.
func (rt *RoundTrip) announce(name string) {
	if name == "" || http1wire.ForbiddenTrailer(name) {
		return
	}
	if rt.response.Trailer == nil {
		rt.response.Trailer = make(http.Header)
	}
	rt.response.Trailer[name] = nil
}

// headerOf fills a header, or makes one where it is nil.
func headerOf(fields []http1wire.Field, header http.Header) http.Header {
	if header == nil {
		header = make(http.Header, len(fields))
	}
	values := make([]string, len(fields))
	for i, one := range fields {
		if prior, ok := header[one.Name]; ok {
			header[one.Name] = append(prior, one.Value)
			continue
		}
		values[i] = one.Value
		header[one.Name] = values[i : i+1 : i+1]
	}
	return header
}
