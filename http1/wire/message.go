package wire

import (
	"net/http"
	"net/textproto"
	"strings"
)

// Message is what the heads of requests and responses have in common.
type Message struct {
	// Minor is 0 for HTTP/1.0 and 1 for HTTP/1.1 and whatever minor version follows it.
	Minor int
	// Header holds the fields. Host and Transfer-Encoding are not among them, nor is Trailer where Announced has its
	// names. The caller may give an empty map, which the parser fills then; after an error it holds anything.
	Header http.Header
	// Values may be given by the caller as room for the values of Header. The parser makes more when it is too small.
	Values []string
	// Length is Content-Length, or -1 without one.
	Length int64
	// Chunked is set if the body is chunked.
	Chunked bool
	// Close is set if Connection has the option "close".
	Close bool
	// KeepAlive is set if Connection has the option "keep-alive".
	KeepAlive bool
	// Upgrade is set if Connection has the option "upgrade".
	Upgrade bool
	// List may be given by the caller, empty and with room: the fields go there in their order instead of to Header,
	// without those that concern one connection only, unless that is more than to leave some out. Then Header has them,
	// and List is nil.
	List []Field
	// Extended is set if Header has names that begin with "X", or Forwarded.
	Extended bool
	// HopByHop is set if Header has hop-by-hop fields (RFC 9110, section 7.6.1).
	HopByHop bool
	// Announced has the names of the trailers that a chunked message announces, without values; nil without any.
	Announced http.Header

	hosts     int
	lengths   int
	encodings int
}

// Persistent reports whether the connection stays open after the message, by its head (RFC 9112, section 9.3).
func (m *Message) Persistent() bool { return !m.Close && (m.Minor > 0 || m.KeepAlive) }

// fields fills the header from the lines of b, which begin at at, and reads what frames the message.
func (m *Message) fields(b []byte, at int, spans []span, parse func(text string) error) (host string, err error) {
	if spans, err = scanFields(b, at, spans); err != nil {
		return "", err
	}
	text := string(b)
	if err = parse(text); err != nil {
		return "", err
	}
	if host, err = m.look(text, spans); err != nil {
		return "", err
	}
	if m.List == nil || !m.list(text, spans) {
		m.List = nil
		m.collect(text, spans)
	}
	return host, m.announce()
}

// Field is one field line of a head that has been read.
type Field struct{ Name, Value string }

// look reads the fields that frame the message or concern the connection.
func (m *Message) look(text string, spans []span) (host string, err error) {
	m.Length = -1
	encoding := ""
	for _, s := range spans {
		name, value := text[s.line:s.colon], text[s.from:s.to]
		switch name {
		case "Host":
			host = value
			m.hosts++
		case "Transfer-Encoding":
			encoding = value
			m.encodings++
		case "Content-Length":
			if err = m.length(value); err != nil {
				return "", err
			}
		case "Connection":
			m.HopByHop = true
			m.connection(value)
		case "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Upgrade",
			"Http2-Settings":
			m.HopByHop = true
		case "Forwarded":
			m.Extended = true
		default:
			m.Extended = m.Extended || name[0] == 'X'
		}
	}
	return host, m.encoding(encoding)
}

// collect makes the header.
func (m *Message) collect(text string, spans []span) {
	c := collector{header: m.Header, values: m.Values[:0]}
	if cap(c.values) < len(spans) {
		c.values = make([]string, 0, len(spans))
	}
	if c.header == nil {
		c.header = make(http.Header, len(spans))
		m.Header = c.header
	}
	for _, s := range spans {
		if name := text[s.line:s.colon]; name != "Host" && name != "Transfer-Encoding" {
			c.add(name, text[s.from:s.to])
		}
	}
}

// list makes the list, unless hop-by-hop fields require more than being left out.
func (m *Message) list(text string, spans []span) bool {
	for _, s := range spans {
		name, value := text[s.line:s.colon], text[s.from:s.to]
		switch name {
		case "Host", "Transfer-Encoding", "Keep-Alive":
			continue
		case "Connection":
			if value == "keep-alive" || value == "close" {
				continue
			}
			return false
		case "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Upgrade", "Http2-Settings":
			return false
		}
		m.List = append(m.List, Field{name, value})
	}
	return true
}

func (m *Message) connection(value string) {
	// The two lists that nearly every message has.
	switch value {
	case "keep-alive":
		m.KeepAlive = true
		return
	case "close":
		m.Close = true
		return
	}
	tokens(value, func(option string) bool {
		switch {
		case strings.EqualFold(option, "close"):
			m.Close = true
		case strings.EqualFold(option, "keep-alive"):
			m.KeepAlive = true
		case strings.EqualFold(option, "upgrade"):
			m.Upgrade = true
		}
		return true
	})
}

// lengthDigits is how many digits a length has at most: that many nines are below 2^63.
const lengthDigits = 18

func (m *Message) length(value string) error {
	if m.lengths++; m.lengths > 1 {
		return ErrLengths
	}
	n, ok := ParseLength(value)
	if !ok {
		return ErrLength
	}
	m.Length = n
	return nil
}

// ParseLength reads the value of a Content-Length: between 1 and 18 decimal digits and nothing else (RFC 9110, section
// 8.6).
func ParseLength(value string) (n int64, ok bool) {
	if value == "" || len(value) > lengthDigits {
		return 0, false
	}
	for i := range len(value) {
		c := value[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

func (m *Message) encoding(value string) error {
	switch {
	case m.encodings == 0:
		return nil
	case m.Minor == 0:
		return ErrEncodingVersion
	case m.encodings > 1 || !strings.EqualFold(value, "chunked"):
		return ErrEncoding
	case m.lengths > 0:
		return ErrLengthAndEncoding
	}
	m.Chunked = true
	return nil
}

// announce moves the names in Trailer to Announced, if trailers can follow at all.
func (m *Message) announce() error {
	if !m.Chunked {
		return nil
	}
	lists, ok := m.Header["Trailer"]
	if !ok {
		return nil
	}
	delete(m.Header, "Trailer")
	forbidden := false
	m.Announced = make(http.Header)
	for _, list := range lists {
		tokens(list, func(name string) bool {
			name = textproto.CanonicalMIMEHeaderKey(name)
			switch {
			case name == "Content-Length" || name == "Transfer-Encoding" || name == "Trailer":
				forbidden = true
			case !ForbiddenTrailer(name):
				m.Announced[name] = nil
			}
			return !forbidden
		})
	}
	if forbidden {
		return ErrTrailerName
	}
	if len(m.Announced) == 0 {
		m.Announced = nil
	}
	return nil
}
