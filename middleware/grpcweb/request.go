package grpcweb

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"

	"github.com/sluiceproxy/sluice/forwarded"
)

// translate converts a gRPC-Web request to gRPC in place. The version of HTTP remains that of the client.
func translate(r *http.Request, called kind) {
	forwarded.RemoveHeader(r.Header, "Content-Type", "Te")
	r.Header["Content-Type"] = []string{nativeType + called.rest}
	// gRPC servers require this.
	r.Header["Te"] = []string{"trailers"}
	if called.text && r.Body != nil && r.Body != http.NoBody {
		r.Body = newDecoder(r.Body)
		forwarded.RemoveHeader(r.Header, "Content-Length")
		r.ContentLength, r.GetBody = -1, nil
	}
}

var (
	errNoBase64 = errors.New("the body of a grpc-web-text call is no base64")
	errCut      = errors.New("the body of a grpc-web-text call ends within a group of base64")
)

// groupBytes is how much text is decoded at a time: a multiple of four.
const groupBytes = 4 << 10

// decoder decodes a body of base64, in which every piece may be padded.
type decoder struct {
	from io.ReadCloser
	// text holds the read and undecoded text; less than a group between two calls.
	text []byte
	// ready is decoded data in memory that was not returned.
	ready, memory []byte
	err           error
}

func newDecoder(from io.ReadCloser) *decoder {
	return &decoder{from: from}
}

func (d *decoder) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(d.ready) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.ready)
	if d.ready = d.ready[n:]; len(d.ready) == 0 && d.err != nil {
		return n, d.err
	}
	return n, nil
}

func (d *decoder) Close() error { return d.from.Close() }

// fill reads once and decodes.
func (d *decoder) fill() {
	if d.memory == nil {
		both := make([]byte, groupBytes+groupBytes/4*3)
		d.text, d.memory = both[:0:groupBytes], both[groupBytes:]
	}
	n, err := d.from.Read(d.text[len(d.text):cap(d.text)])
	d.text = withoutLines(d.text[:len(d.text)+n], len(d.text))
	whole := len(d.text) / 4 * 4
	var ok bool
	if d.ready, ok = decode(d.memory, d.text[:whole]); !ok {
		d.err = errNoBase64
		return
	}
	d.text = d.text[:copy(d.text, d.text[whole:])]
	if d.err = err; errors.Is(err, io.EOF) && len(d.text) > 0 {
		d.err = errCut
	}
}

// withoutLines removes line breaks from the text after its first bytes.
func withoutLines(text []byte, first int) []byte {
	kept := text[:first]
	for _, c := range text[first:] {
		if c != '\r' && c != '\n' {
			kept = append(kept, c)
		}
	}
	return kept
}

// decode decodes complete groups, any of which may be padded. If not ok, the result is what was decoded before the
// error.
func decode(memory, groups []byte) (decoded []byte, ok bool) {
	total := 0
	for len(groups) > 0 {
		end := len(groups)
		for i, c := range groups {
			if c == '=' {
				end = i/4*4 + 4
				break
			}
		}
		n, err := base64.StdEncoding.Decode(memory[total:], groups[:end])
		if total += n; err != nil {
			return memory[:total], false
		}
		groups = groups[end:]
	}
	return memory[:total], true
}
