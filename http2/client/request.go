package client

import (
	"net/http"
	"slices"
	"strings"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
)

// head is the head of a request as it is sent.
type head struct {
	// buf is the memory of block, unless that has outgrown it.
	buf   *headBuffer
	block []byte
	// size is how large it is as RFC 9113, section 6.5.2 counts.
	size int64
	// expects says that the body waits for 100 Continue.
	expects bool
}

// prepare makes the head of the request and decides how its body is sent. Whatever the endpoint could read in another
// way is an error, and nothing is repaired.
func (rt *RoundTrip) prepare() error {
	r := rt.request
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		rt.length = 0
	case r.ContentLength > 0 && len(r.TransferEncoding) == 0:
		rt.length = r.ContentLength
	default:
		rt.length = -1
	}
	rt.rest, rt.whole = rt.length, rt.length == 0
	h := &rt.out
	h.buf = rt.upstream.resources.pools.head()
	h.block = h.buf[:0]
	if err := h.start(r); err != nil {
		return err
	}
	if err := h.fields(r, &rt.Options); err != nil {
		return err
	}
	switch {
	case rt.length > 0:
		h.block = wire.AppendLength(h.block, rt.length)
	case rt.length == 0 && (r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch):
		h.block = wire.AppendLength(h.block, 0) // RFC 9110 section 8.6: their meaning expects content.
	}
	if rt.length != 0 {
		h.announce(r.Trailer)
	}
	h.expects = h.expects && rt.length != 0 && rt.upstream.config.ContinueTimeout > 0
	return nil
}

// start appends what begins a request (section 8.3.1).
func (h *head) start(r *http.Request) error {
	method := r.Method
	switch {
	case method == "":
		method = http.MethodGet
	case method == http.MethodConnect:
		return errConnect
	case !http1wire.ValidToken(method):
		return errMethod
	}
	var room [256]byte
	target, err := http1wire.AppendTarget(room[:0], r.URL)
	if err != nil {
		return err
	}
	path := string(target)
	b := wire.AppendMethod(h.block, method)
	b = wire.AppendScheme(b, r.URL.Scheme == "https")
	b = wire.AppendPath(b, path)
	if target, err = http1wire.AppendAuthority(target[:0], r); err != nil {
		return err
	}
	h.block = wire.AppendAuthority(b, string(target))
	h.size = int64(len(method)+len("https")+len(path)+len(target)+len(":method:scheme:path:authority")) + 4*fieldOverhead
	return nil
}

// fields appends the request's own fields, without those that concern a connection or frame the message, and with those
// that the options replace.
func (h *head) fields(r *http.Request, options *http1.Options) error {
	for name, values := range r.Header {
		if !http1wire.ValidToken(name) {
			return errFieldName
		}
		if kind := http1wire.KindOf(name); kind != http1wire.PlainField {
			if values = h.special(kind, name, values, options.EndToEnd); values == nil {
				continue
			}
		}
		if name == options.Replace.Name {
			continue
		}
		for _, value := range values {
			if err := h.add(name, value); err != nil {
				return err
			}
		}
	}
	if options.Replace.Name != "" {
		if !http1wire.ValidToken(options.Replace.Name) {
			return errFieldName
		}
		if err := h.add(options.Replace.Name, options.Replace.Value); err != nil {
			return err
		}
	}
	for line := range strings.SplitSeq(string(options.Line), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			if err := h.add(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// special looks at the values of a field that is not simply copied, and returns what is sent of them; nil for nothing.
func (h *head) special(kind http1wire.FieldKind, name string, values []string, endToEnd bool) []string {
	switch kind {
	case http1wire.ExpectField:
		h.expects = slices.ContainsFunc(values, func(value string) bool { return strings.EqualFold(value, "100-continue") })
		return values
	case http1wire.TEField:
		// RFC 9113 section 8.2.2: it may have no other value.
		if slices.ContainsFunc(values, func(list string) bool { return http1wire.HasToken(list, "trailers") }) {
			return []string{"trailers"}
		}
	case http1wire.HopField:
		// Credentials for a proxy are no field of the connection for HTTP/2.
		if !endToEnd && len(name) > len("Proxy-Connection") {
			return values
		}
	case http1wire.PlainField, http1wire.FramingField, http1wire.ConnectionField, http1wire.UpgradeField,
		http1wire.SettingsField:
	}
	return nil
}

// add appends a field. The value has no blanks at its ends (section 8.2.1), which HTTP/1.1 ignores there.
func (h *head) add(name, value string) error {
	value = strings.Trim(value, " \t")
	if !http1wire.ValidValue(value) {
		return invalidField(name)
	}
	h.block = wire.AppendField(h.block, name, value)
	h.size += int64(len(name) + len(value) + fieldOverhead)
	return nil
}

// announce appends the names of trailers.
func (h *head) announce(trailer http.Header) {
	var names []string
	for name := range trailer {
		if http1wire.ValidToken(name) && !http1wire.ForbiddenTrailer(http.CanonicalHeaderKey(name)) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		_ = h.add("Trailer", strings.Join(names, ", ")) // Tokens are valid values.
	}
}

// appendTrailers returns the block of trailers, or nil where there are none.
func appendTrailers(trailer http.Header) []byte {
	var b []byte
	for name, values := range trailer {
		if !http1wire.ValidToken(name) || http1wire.ForbiddenTrailer(http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, value := range values {
			if http1wire.ValidValue(value) {
				b = wire.AppendField(b, name, strings.Trim(value, " \t"))
			}
		}
	}
	return b
}
