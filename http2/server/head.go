package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/canonical"
	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/heads"
)

// block is a head, or trailers, that is being read (RFC 9113, section 4.3).
type block struct {
	conn *serverConn
	// open says that CONTINUATION must follow.
	open   bool
	stream uint32
	flags  wire.Flags
	// bytes is how much has come of it, compressed.
	bytes int
	// exchange is the request that begins; nil where the fields are dropped, or are the trailers that end a body.
	exchange *exchange
	trailers bool
	// authority says that :authority has come.
	authority bool
	// late are the trailers, and size is how large they are.
	late []http1wire.Field
	size int
	// stray says that the block came on a stream that this side has reset.
	stray bool
	// refusal is the error of the stream that is known before the end of the block.
	refusal error
}

// beginBlock handles HEADERS.
func (c *serverConn) beginBlock(h wire.Header, payload []byte) error {
	if h.Stream == 0 || h.Stream%2 == 0 {
		return wire.Fault(wire.ProtocolError, "HEADERS on a stream that is not a client's (section 5.1.1)")
	}
	payload, err := wire.Unpad(h, payload)
	if err != nil {
		return err
	}
	b := &c.block
	*b = block{conn: c, stream: h.Stream, flags: h.Flags}
	if payload, err = wire.WithoutPriority(h, payload); payload == nil {
		return err
	}
	b.refusal = err
	if err := c.openStream(b); err != nil {
		return err
	}
	return c.addBlock(payload)
}

// openStream finds what the block belongs to.
func (c *serverConn) openStream(b *block) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if b.stream <= c.lastStream {
		x := c.streams[b.stream]
		switch {
		case x != nil && x.tunnel != nil && !x.body.ended:
			b.refusal = wire.StreamFault(b.stream, wire.ProtocolError, "HEADERS on the stream of a CONNECT (section 8.5)")
		case x != nil && !x.body.ended:
			if b.trailers = true; !b.flags.Has(wire.EndStream) {
				b.refusal = wire.StreamFault(b.stream, wire.ProtocolError, "trailers without END_STREAM (section 8.1)")
			}
		case x == nil && c.reset.has(b.stream): // It was on its way.
			b.stray = true
		default:
			return wire.Fault(wire.StreamClosed, "HEADERS on a closed stream (section 5.1)")
		}
		return nil
	}
	c.lastStream = b.stream
	switch {
	case c.life.retired:
		return nil // It is behind the last stream of GOAWAY.
	case b.refusal != nil:
		return nil
	case len(c.streams) >= c.server.maxStreams() || c.running >= c.server.maxStreams():
		b.refusal = wire.StreamFault(b.stream, wire.RefusedStream, "more streams than SETTINGS_MAX_CONCURRENT_STREAMS")
		return nil
	}
	b.exchange = c.server.pool.exchange()
	b.exchange.init(c, b.stream)
	return nil
}

// continueBlock handles CONTINUATION.
func (c *serverConn) continueBlock(h wire.Header, payload []byte) error {
	if !c.block.open {
		return wire.Fault(wire.ProtocolError, "CONTINUATION without a head (section 6.10)")
	}
	if err := c.flood.take(CauseContinuation, 1); err != nil {
		return err
	}
	c.block.flags |= h.Flags & wire.EndHeaders
	return c.addBlock(payload)
}

// addBlock decodes a part of the block.
func (c *serverConn) addBlock(fragment []byte) error {
	b := &c.block
	if b.bytes += len(fragment); b.bytes > c.server.maxHeaderBytes() {
		c.cause = CauseHeaderList
		return wire.Fault(wire.EnhanceYourCalm, "a compressed head that is larger than a head may be (section 10.5.1)")
	}
	if _, err := c.decoder.Write(fragment); err != nil {
		return c.compression(err)
	}
	if b.open = !b.flags.Has(wire.EndHeaders); b.open {
		return nil
	}
	if err := c.decoder.Close(); err != nil {
		return c.compression(err)
	}
	return c.endBlock()
}

// compression returns the error of a block that cannot be decoded.
func (c *serverConn) compression(err error) error {
	fault := wire.DecodingFault(err)
	if fault.Code == wire.EnhanceYourCalm {
		c.cause = CauseHeaderList
	}
	return fault
}

// field takes a field.
func (b *block) field(f hpack.HeaderField) {
	x := b.exchange
	switch {
	case b.refusal != nil:
	case b.trailers:
		b.trailer(f.Name, trimmed(f.Value))
	case x == nil:
	case len(f.Name) > 0 && f.Name[0] == ':':
		b.pseudo(f.Name, f.Value)
	case f.Name == "content-length":
		b.regular(f.Name, f.Value) // What frames the body has one spelling.
	default:
		b.regular(f.Name, trimmed(f.Value))
	}
}

// trimmed returns a value without white space around it. Section 8.2.1 has no place for it; clients that take values
// from their users send it, and others than nghttp2 accept it.
func trimmed(value string) string { return strings.Trim(value, " \t") }

// malformed notes that the stream must be refused (section 8.1.1).
func (b *block) malformed(reason string) {
	if b.refusal == nil {
		b.refusal = wire.StreamFault(b.stream, wire.ProtocolError, reason)
	}
}

// pseudo takes a pseudo-header field (section 8.3.1).
func (b *block) pseudo(name, value string) {
	x := b.exchange
	if x.regular {
		b.malformed("a pseudo-header field behind others (section 8.3)")
		return
	}
	var to *string
	switch name {
	case ":method":
		to = &x.request.Method
	case ":path":
		to = &x.request.RequestURI
	case ":authority":
		if to = &x.request.Host; b.authority {
			b.malformed("a pseudo-header field that is repeated (section 8.3)")
		}
		b.authority = true
	case ":scheme":
		to = &x.scheme
	case ":protocol":
		if to = &x.protocol; !b.conn.server.ExtendedConnect {
			b.malformed("a :protocol without SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441, section 3)")
		}
	default:
		b.malformed("an unknown pseudo-header field (section 8.3.1)")
		return
	}
	if *to != "" || value == "" && name != ":authority" {
		b.malformed("a pseudo-header field that is empty or repeated (section 8.3.1)")
		return
	}
	if !http1wire.ValidValue(value) {
		b.malformed("a control character in a pseudo-header field (section 8.2.1)")
		return
	}
	*to = value
	x.size += int64(len(name) + len(value) + heads.FieldOverhead)
}

// regular takes another field.
func (b *block) regular(name, value string) {
	x := b.exchange
	x.regular = true
	x.count++
	x.size += int64(len(name) + len(value) + heads.FieldOverhead)
	server := b.conn.server
	switch {
	case x.status != 0:
	case x.size > int64(server.maxHeaderBytes()):
		x.reject(http.StatusRequestHeaderFieldsTooLarge, "a larger header than http.maxHeaderBytes")
	case server.MaxHeaderFields > 0 && x.count > server.MaxHeaderFields:
		x.reject(http.StatusRequestHeaderFieldsTooLarge, "more header fields than http.maxHeaderCount")
	}
	if x.status == http.StatusRequestHeaderFieldsTooLarge {
		x.dropFields()
		return
	}
	if reason := flaw(name, value); reason != "" {
		b.malformed(reason)
		return
	}
	switch name {
	case "host":
		if x.host != "" && x.host != value {
			b.malformed("several fields host (RFC 9112, section 3.2)")
		}
		x.host = value
		return
	case "content-length":
		length, ok := http1wire.ParseLength(value)
		if !ok || x.declared >= 0 {
			x.reject(http.StatusBadRequest, "content-length is not one number")
		}
		x.declared = length
	case "cookie":
		x.addCookie(value)
		return
	case "trailer":
		x.announce(value)
		return
	case "te":
		x.hopByHop = true
	}
	if name[0] == 'x' || name == "forwarded" {
		x.extended = true
	}
	x.addField(wire.Canonical(name), value)
}

// flaw says what is wrong with a field (section 8.2).
func flaw(name, value string) string {
	if !wire.ValidName(name) {
		return "a name of a field that is no token in lower case (section 8.2.1)"
	}
	if !http1wire.ValidValue(value) {
		return "a value of a field with control characters (section 8.2.1)"
	}
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return "a field that concerns a connection (section 8.2.2)"
	case "te":
		if value != "trailers" {
			return "TE other than trailers (section 8.2.2)"
		}
	}
	return ""
}

// trailer takes a trailer.
func (b *block) trailer(name, value string) {
	b.size += len(name) + len(value) + heads.FieldOverhead
	switch {
	case len(name) > 0 && name[0] == ':':
		b.malformed("a pseudo-header field among trailers (section 8.1)")
	case b.size > maxTrailers:
		b.malformed("trailers that are too large")
	case flaw(name, value) != "":
		b.malformed(flaw(name, value))
	default:
		if name := wire.Canonical(name); !http1wire.ForbiddenTrailer(name) {
			b.late = append(b.late, http1wire.Field{Name: name, Value: value})
		}
	}
}

// maxTrailers bounds the trailers of a request, in bytes.
const maxTrailers = 64 << 10

// endBlock handles a block that is complete.
func (c *serverConn) endBlock() error {
	b := &c.block
	x := b.exchange
	b.exchange = nil
	switch {
	case b.refusal != nil:
		if x != nil {
			c.server.pool.putExchange(x)
		}
		return c.refuse(b.refusal)
	case b.trailers:
		return c.refuse(c.endBody(b.stream, b.late))
	case b.stray:
		return c.flood.take(CauseResets, 1)
	case x == nil:
		return nil
	}
	if err := x.open(b.flags.Has(wire.EndStream)); err != nil {
		c.server.pool.putExchange(x)
		return c.refuse(err)
	}
	return c.begin(x)
}

// begin has the handler of a request run once all that was read has been handled.
func (c *serverConn) begin(x *exchange) error {
	if x.status != 0 {
		if err := c.flood.take(CauseRefused, 1+int(x.size/refusedCost)); err != nil {
			return err
		}
	}
	if x.status == http.StatusRequestHeaderFieldsTooLarge {
		x.size = int64(len(x.request.Host) + len(x.request.RequestURI)) // Its fields are not kept.
	}
	if x.size > 0 && !c.heads.Take(x.size) {
		if c.server.Refused != nil {
			c.server.Refused(&x.request, http.StatusRequestHeaderFieldsTooLarge, reasonMemory)
		}
		c.cause = CauseHeaderList
		return wire.Fault(wire.EnhanceYourCalm, reasonMemory)
	}
	c.mutex.Lock()
	if c.life.over {
		c.mutex.Unlock()
		c.heads.Give(x.size)
		return errOver
	}
	c.streams[x.id] = x
	c.running++
	c.mutex.Unlock()
	c.ready = append(c.ready, x)
	return nil
}

// startReady starts the handlers of the requests that have come. Of each the body is there as far as it came with it.
func (c *serverConn) startReady() {
	for i, x := range c.ready {
		c.server.workers.Start(x)
		c.ready[i] = nil
	}
	c.ready = c.ready[:0]
}

// reasonMemory is why a connection ends whose requests hold too much memory.
const reasonMemory = "the heads of the client's requests take too much memory"

// open completes the request from its head.
func (x *exchange) open(ended bool) error {
	r := &x.request
	if r.Host == "" {
		r.Host = x.host
	}
	connect := r.Method == http.MethodConnect && x.protocol == ""
	switch {
	case x.host != "" && !strings.EqualFold(x.host, r.Host):
		return x.malformed("host differs from :authority (section 8.3.1)")
	case r.Method == "":
		return x.malformed("no :method (section 8.3.1)")
	case connect && (x.scheme != "" || r.RequestURI != "" || r.Host == ""):
		return x.malformed("CONNECT with :scheme or :path, or without :authority (section 8.5)")
	case !connect && (x.scheme == "" || r.RequestURI == ""):
		return x.malformed("no :scheme or :path (section 8.3.1)")
	}
	if x.protocol != "" {
		if err := x.connectProtocol(); err != nil {
			return err
		}
	}
	target := http1wire.Request{Method: r.Method, Target: r.RequestURI, Host: r.Host}
	if x.protocol != "" {
		target.Method = http.MethodGet
	}
	if connect {
		target.Target, r.RequestURI = r.Host, r.Host
	}
	if !http1wire.ValidToken(r.Method) {
		x.reject(http.StatusBadRequest, http1wire.ErrMethod.Error())
	}
	if r.Host != "" && !canonical.ValidAuthority(r.Host) {
		x.reject(http.StatusBadRequest, http1wire.ErrHost.Error())
	}
	_, err := target.URL(&x.url)
	switch {
	case err != nil || strings.ContainsAny(r.RequestURI, " \t#") || !connect && r.RequestURI[0] != '/' && (r.RequestURI != "*" || r.Method != http.MethodOptions):
		x.url = url.URL{Path: "/"}
		x.reject(http.StatusBadRequest, ":path is no path")
	case ended && x.declared > 0:
		x.reject(http.StatusBadRequest, "content-length counts more than the body has")
	}
	x.build(ended)
	return nil
}

func (x *exchange) malformed(reason string) error {
	return wire.StreamFault(x.id, wire.ProtocolError, reason)
}

// reject notes that the request is answered without the handler, and why. The first reason counts.
func (x *exchange) reject(status int, reason string) {
	if x.status == 0 {
		x.status, x.reason = status, reason
	}
}

// parsePriority reads the urgency and whether the response is incremental from a Priority field (RFC 9218, section 4).
// What cannot be read is the default.
func parsePriority(value string) priority {
	p := priority{urgency: defaultUrgency}
	for member := range strings.SplitSeq(value, ",") {
		switch key, v, _ := strings.Cut(strings.TrimSpace(member), "="); key {
		case "u":
			if n, err := strconv.ParseUint(v, 10, 8); err == nil && n <= leastUrgency {
				p.urgency = uint8(n)
			}
		case "i":
			p.incremental = v == "" || v == "?1"
		}
	}
	return p
}
