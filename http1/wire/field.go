package wire

import (
	"bytes"
	"net/http"
	"strings"
)

// span is one field line: its name ends at colon, its value is [from:to].
type span struct{ line, colon, from, to int32 }

// stackSpans is how many fields are parsed without memory of their own.
const stackSpans = 28

// scanFields brings the names of field lines into their canonical spelling, in place, and checks names and values. b
// ends with the blank line, or with the last line's CR LF.
func scanFields(b []byte, at int, spans []span) ([]span, error) {
	for at < len(b) && b[at] != '\r' {
		colon, err := scanName(b, at)
		if err != nil {
			return nil, err
		}
		i := bytes.IndexByte(b[colon:], '\n')
		if i < 1 || b[colon+i-1] != '\r' {
			return nil, ErrBareLF
		}
		end := colon + i - 1
		from, to := trim(b, colon+1, end)
		if err := checkValue(b[from:to]); err != nil {
			return nil, err
		}
		//nolint:gosec // heads are far below 2 GiB
		spans = append(spans, span{int32(at), int32(colon), int32(from), int32(to)})
		at = end + 2
	}
	if at < len(b) && (at+2 != len(b) || b[at+1] != '\n') {
		return nil, ErrBareCR
	}
	return spans, nil
}

// scanName returns where the colon after a name is.
func scanName(b []byte, at int) (int, error) {
	start := true
	for i := at; i < len(b); i++ {
		c := b[i]
		canonical := lowerToken[c]
		if start {
			canonical = upperToken[c]
		}
		if canonical == 0 {
			if c == ':' && i > at {
				return i, nil
			}
			return 0, badName(b[at:], i-at)
		}
		b[i] = canonical
		start = c == '-'
	}
	return 0, ErrName
}

// badName returns the error of the name at the beginning of b, at the character i.
func badName(b []byte, i int) error {
	c := b[i]
	switch {
	case i == 0 && (c == ' ' || c == '\t'):
		return ErrFold
	case c == ' ' || c == '\t':
		rest := bytes.TrimLeft(b[i:], " \t")
		if len(rest) > 0 && rest[0] == ':' {
			return ErrSpaceBeforeColon
		}
	case c == '\r' && (i+1 >= len(b) || b[i+1] != '\n'):
		return ErrBareCR
	}
	return ErrName
}

// collector fills a header. Each value is a slice of its own with no room behind it; values holds them all.
type collector struct {
	header http.Header
	values []string
	// seen has a bit for each name that was added, which it may share with other names.
	seen uint64
}

func (c *collector) add(name, value string) {
	bit := uint64(1) << ((len(name)*5 ^ int(name[0])*3 ^ int(name[len(name)-1])) & 63) //nolint:gosec // below 64
	if c.seen&bit != 0 {
		if prior, ok := c.header[name]; ok {
			c.header[name] = append(prior, value)
			return
		}
	}
	c.seen |= bit
	c.values = append(c.values, value)
	c.header[name] = c.values[len(c.values)-1 : len(c.values) : len(c.values)]
}

// ParseFields parses field lines alone, such as a trailer section: each ends with CR LF, and a blank line may follow.
// It changes the case of names in b.
func ParseFields(b []byte) (http.Header, error) {
	var fixed [stackSpans]span
	spans, err := scanFields(b, 0, fixed[:0])
	if err != nil {
		return nil, err
	}
	c := collector{header: make(http.Header, len(spans)), values: make([]string, 0, len(spans))}
	text := string(b)
	for _, s := range spans {
		c.add(text[s.line:s.colon], text[s.from:s.to])
	}
	return c.header, nil
}

// HasToken reports whether a comma-separated list has a member, in any case.
func HasToken(list, wanted string) bool {
	found := false
	tokens(list, func(member string) bool {
		found = strings.EqualFold(member, wanted)
		return !found
	})
	return found
}

// tokens calls f with each member of a comma-separated list until f returns false.
func tokens(list string, f func(string) bool) {
	for list != "" {
		var member string
		member, list, _ = strings.Cut(list, ",")
		if member = strings.Trim(member, " \t"); member != "" && !f(member) {
			return
		}
	}
}

// ForbiddenTrailer reports whether a field, in canonical spelling, must not be a trailer: it frames the message, routes
// it, authenticates, or defines how the content is interpreted (RFC 9110, section 6.5.1).
func ForbiddenTrailer(name string) bool {
	switch name {
	case "Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Host", "Te", "Upgrade", "Keep-Alive",
		"Proxy-Connection",
		"Expect", "Max-Forwards", "Cache-Control", "Pragma", "Range", "Authorization", "Proxy-Authorization",
		"Proxy-Authenticate",
		"Www-Authenticate", "Cookie", "Set-Cookie", "Age", "Date", "Expires", "Location", "Retry-After", "Vary", "Warning",
		"Content-Encoding", "Content-Type", "Content-Range", "Http2-Settings":
		return true
	}
	return strings.HasPrefix(name, "If-")
}
