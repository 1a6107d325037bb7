package client

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// requestFraming says how the body of a request is sent.
type requestFraming struct {
	// length is how many bytes it has: 0 for none, -1 for chunks.
	length int64
	// rest is how much of it has not been read; -1 when that is unknown.
	rest int64
	// expects says that the body waits for 100 Continue.
	expects bool
	// closes says that the request has "Connection: close".
	closes bool
	// upgrades says that the request has Upgrade.
	upgrades bool
	// long says that the head is larger than longHead. It is then not kept, but made again and written in pieces.
	long bool
	// pieces takes the pieces of a long head; nil drops them.
	pieces io.Writer
}

const (
	// longHead is how many bytes of a head are held in memory at most before they are written.
	longHead = 16 << 10
	// longValue is how many bytes of a value are appended at a time.
	longValue = 8 << 10
)

// spill hands the bytes of a head to pieces once there are more than longHead of them, and returns the rest.
func (f *requestFraming) spill(b []byte) ([]byte, error) {
	if len(b) <= longHead {
		return b, nil
	}
	f.long = true
	if f.pieces != nil {
		if _, err := f.pieces.Write(b); err != nil {
			return b, err
		}
	}
	return b[:0], nil
}

// appendRequest appends the head of a request. Whatever could be read in two ways is an error, and nothing is repaired.
// Of a long head only the last piece is returned; those before it go to pieces, or are dropped where that is nil.
func (rt *RoundTrip) appendRequest(b []byte, r *http.Request, pieces io.Writer) ([]byte, requestFraming, error) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	framing, err := frame(r)
	switch {
	case err != nil:
		return b, framing, err
	case method == http.MethodConnect:
		return b, framing, errConnect
	case !wire.ValidToken(method):
		return b, framing, errMethod
	}
	b = append(b, method...)
	b = append(b, ' ')
	if b, err = wire.AppendTarget(b, r.URL); err != nil {
		return b, framing, err
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	if b, err = wire.AppendAuthority(b, r); err != nil {
		return b, framing, err
	}
	b = append(b, "\r\n"...)
	b = appendFraming(b, r, method, framing)
	framing.closes, framing.pieces = r.Close, pieces
	if b, err = rt.appendFields(b, r, &framing); err != nil {
		return b, framing, err
	}
	return append(b, "\r\n"...), framing, nil
}

// frame decides how the body is sent.
func frame(r *http.Request) (requestFraming, error) {
	chunked := false
	switch {
	case len(r.TransferEncoding) == 0:
	case len(r.TransferEncoding) == 1 && r.TransferEncoding[0] == "chunked":
		chunked = true
	default:
		return requestFraming{}, errEncoding
	}
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return requestFraming{}, nil
	case chunked || r.ContentLength <= 0:
		// A length of 0 together with a body means that the length is unknown, as in net/http.
		return requestFraming{length: -1, rest: -1}, nil
	}
	return requestFraming{length: r.ContentLength, rest: r.ContentLength}, nil
}

func appendFraming(b []byte, r *http.Request, method string, framing requestFraming) []byte {
	switch {
	case framing.length > 0:
		b = wire.AppendLength(b, framing.length)
	case framing.length < 0:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		b = appendAnnounced(b, r.Trailer)
	case method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch:
		// RFC 9110 section 8.6: their meaning expects content.
		b = wire.AppendLength(b, 0)
	}
	if r.Close {
		b = append(b, "Connection: close\r\n"...)
	}
	return b
}

func appendAnnounced(b []byte, trailer http.Header) []byte {
	if len(trailer) == 0 {
		return b
	}
	names := make([]string, 0, len(trailer))
	for name := range trailer {
		if wire.ValidToken(name) && !wire.ForbiddenTrailer(http.CanonicalHeaderKey(name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return b
	}
	slices.Sort(names)
	return wire.AppendField(b, "Trailer", strings.Join(names, ", "))
}

// appendFields appends the request's own fields, without those that frame or that a request must not forward, and with
// those that the call replaces.
func (rt *RoundTrip) appendFields(b []byte, r *http.Request, framing *requestFraming) ([]byte, error) {
	if !rt.EndToEnd && offersH2C(r.Header) {
		return rt.appendFieldsWithoutH2C(b, r, framing)
	}
	for name, values := range r.Header {
		if !wire.ValidToken(name) {
			return b, errFieldName
		}
		if kind := wire.KindOf(name); kind != wire.PlainField {
			if values = rt.special(kind, values, framing); values == nil || r.Close && kind == wire.ConnectionField {
				continue
			}
		}
		if name == rt.Replace.Name {
			continue
		}
		var err error
		if b, err = framing.appendValues(b, name, values); err != nil {
			return b, err
		}
	}
	b, err := rt.appendReplaced(b, framing)
	return append(b, rt.Line...), err
}

// offersH2C reports whether a request offers h2c by Upgrade (RFC 9113 section 3.1).
func offersH2C(header http.Header) bool {
	for name, values := range header {
		if wire.KindOf(name) == wire.UpgradeField && slices.ContainsFunc(values, namesH2C) {
			return true
		}
	}
	return false
}

// special looks at the values of a field that is not simply copied, and returns what is sent of them; nil for nothing.
func (rt *RoundTrip) special(kind wire.FieldKind, values []string, framing *requestFraming) []string {
	switch {
	case kind == wire.FramingField:
		return nil
	case kind == wire.ExpectField:
		framing.expects = framing.length != 0 && slices.ContainsFunc(values, expectsContinue)
	case rt.EndToEnd && kind == wire.TEField && slices.ContainsFunc(values, namesTrailers):
		return []string{"trailers"}
	case rt.EndToEnd:
		return nil
	case kind == wire.UpgradeField:
		framing.upgrades = framing.upgrades || len(values) > 0
	case kind == wire.ConnectionField:
		framing.closes = framing.closes || slices.ContainsFunc(values, namesClose)
	}
	return values
}

func (rt *RoundTrip) appendReplaced(b []byte, framing *requestFraming) ([]byte, error) {
	switch {
	case rt.Replace.Name == "":
		return b, nil
	case !wire.ValidToken(rt.Replace.Name):
		return b, errFieldName
	}
	return framing.appendValue(b, rt.Replace.Name, rt.Replace.Value)
}

func (f *requestFraming) appendValues(b []byte, name string, values []string) ([]byte, error) {
	var err error
	for _, value := range values {
		if b, err = f.appendValue(b, name, value); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (f *requestFraming) appendValue(b []byte, name, value string) ([]byte, error) {
	if !wire.ValidValue(value) {
		return b, invalidField(name)
	}
	b = append(b, name...)
	b = append(b, ": "...)
	for len(value) > longValue {
		b = append(b, value[:longValue]...)
		value = value[longValue:]
		var err error
		if b, err = f.spill(b); err != nil {
			return b, err
		}
	}
	b = append(b, value...)
	return f.spill(append(b, "\r\n"...))
}

// appendFieldsWithoutH2C is appendFields for a request that offers h2c, of which nothing is sent.
func (rt *RoundTrip) appendFieldsWithoutH2C(b []byte, r *http.Request, framing *requestFraming) ([]byte, error) {
	header := make(http.Header, len(r.Header))
	for name, values := range r.Header {
		if kind := wire.KindOf(name); kind != wire.PlainField {
			values = withoutH2C(kind, values, r.Header)
		}
		if len(values) > 0 {
			header[name] = values
		}
	}
	clean := *r
	clean.Header = header
	framing.upgrades = false
	return rt.appendFields(b, &clean, framing)
}

func expectsContinue(value string) bool { return strings.EqualFold(value, "100-continue") }

func namesClose(list string) bool { return wire.HasToken(list, "close") }

func namesTrailers(list string) bool { return wire.HasToken(list, "trailers") }
