package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// decode feeds a body in pieces and returns the data, what is left behind the body, and how it ended.
func decode(c *wire.Chunked, raw string, piece, room int) (data, rest string, err error) {
	out := make([]byte, room)
	src := []byte(raw)
	for at := 0; at < len(src) && !c.Done(); {
		put, took, err := c.Decode(out, src[at:min(at+piece, len(src))])
		data += string(out[:put])
		at += took
		if err != nil {
			return data, raw[at:], err
		}
		rest = raw[at:]
	}
	if !c.Done() {
		return data, rest, io.ErrUnexpectedEOF
	}
	return data, rest, nil
}

func TestChunked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, raw, data string
		err             error
		trailer         http.Header
	}{
		{"empty", "0\r\n\r\n", "", nil, nil},
		{"two chunks", "4\r\nbody\r\n0A\r\n0123456789\r\n000\r\n\r\n", "body0123456789", nil, nil},
		{"extensions", "4;a=b;c=\"d;e\"\r\nbody\r\n0 \t;x\r\n\r\n", "body", nil, nil},
		{
			"trailers", "1\r\nx\r\n0\r\nx-sum: 1\r\nX-Sum:2\r\nContent-Length: 3\r\nHost: h\r\n\r\n", "x", nil,
			http.Header{"X-Sum": {"1", "2"}},
		},
		{"only trailers that must not be", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "", nil, nil},
		{"cut", "4\r\nbo", "bo", io.ErrUnexpectedEOF, nil},
		{"no size", "\r\n", "", wire.ErrChunkSize, nil},
		{"no digit", "g\r\n", "", wire.ErrChunkSize, nil},
		{"sign", "+1\r\nx\r\n", "", wire.ErrChunkSize, nil},
		{"prefix", "0x1\r\nx\r\n", "", wire.ErrChunkSize, nil},
		{"space first", " 1\r\nx\r\n", "", wire.ErrChunkSize, nil},
		{"space last", "1 \r\nx\r\n", "", wire.ErrChunkSize, nil},
		{"too many digits", "1000000000000000\r\n", "", wire.ErrChunkSize, nil},
		{"bare LF after the size", "1\nx\r\n", "", wire.ErrBareLF, nil},
		{"bare LF in an extension", "1;a\nx\r\n", "", wire.ErrBareLF, nil},
		{"bare CR in an extension", "1;a\rb\r\nx\r\n", "", wire.ErrBareCR, nil},
		{"NUL in an extension", "1;\x00\r\nx\r\n", "", wire.ErrChunkExtension, nil},
		{"endless extension", "1;" + strings.Repeat("a", 5000), "", wire.ErrChunkExtension, nil},
		{
			"extensions without data", strings.Repeat("1;"+strings.Repeat("a", 1000)+"\r\nx\r\n", 30), "xxxxxxxxxxxxxxxx",
			wire.ErrChunkExtension, nil,
		},
		{"many small chunks", strings.Repeat("1\r\nx\r\n", 5000) + "0\r\n\r\n", strings.Repeat("x", 5000), nil, nil},
		{"more data than the size", "1\r\nxy\r\n", "x", wire.ErrChunkEnd, nil},
		{"bare LF after data", "1\r\nx\n0\r\n\r\n", "x", wire.ErrChunkEnd, nil},
		{"bare LF in a trailer", "0\r\nX: 1\n\r\n", "", wire.ErrBareLF, nil},
		{"folded trailer", "0\r\nX: 1\r\n Y: 2\r\n\r\n", "", wire.ErrFold, nil},
		{"NUL in a trailer", "0\r\nX: \x00\r\n\r\n", "", wire.ErrValue, nil},
		{"endless trailer", "0\r\nX: " + strings.Repeat("x", 20_000), "", wire.ErrTrailerTooLarge, nil},
		{"too many trailers", "0\r\n" + strings.Repeat("X: 1\r\n", 200), "", wire.ErrTrailerTooLarge, nil},
	} {
		for _, piece := range []int{1, 2, 3, 7, 1 << 20} {
			t.Run(fmt.Sprint(test.name, piece), func(t *testing.T) {
				t.Parallel()
				const behind = "GET / HTTP/1.1\r\n"
				raw := test.raw
				if test.err == nil {
					raw += behind
				}
				c := &wire.Chunked{}
				data, rest, err := decode(c, raw, piece, 5)
				if data != test.data || !errors.Is(err, test.err) {
					t.Errorf("%q, %v, want %q, %v", data, err, test.data, test.err)
				}
				if test.err == nil && rest != behind {
					t.Errorf("%q is left", rest)
				}
				if diff := cmp.Diff(test.trailer, c.Trailer); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestChunkedPastDecode reads data past the decoder.
func TestChunkedPastDecode(t *testing.T) {
	t.Parallel()
	c := &wire.Chunked{}
	if _, took, err := c.Decode(nil, []byte("5\r\nbo")); took != 3 || err != nil || c.Pending() != 5 {
		t.Fatalf("took %d, %v, pending %d", took, err, c.Pending())
	}
	c.Took(3)
	if c.Pending() != 2 {
		t.Errorf("pending %d", c.Pending())
	}
	c.Took(2)
	if _, took, err := c.Decode(nil, []byte("\r\n0\r\n\r\nx")); took != 7 || err != nil || !c.Done() {
		t.Errorf("took %d, %v", took, err)
	}
}

// FuzzChunked compares with net/http's decoder, and one piece with many.
func FuzzChunked(f *testing.F) {
	for _, seed := range []string{
		"0\r\n\r\n", "4\r\nbody\r\n0\r\n\r\n", "4;a=b\r\nbody\r\n0\r\nX: 1\r\n\r\n",
		"1\nx\r\n0\r\n\r\n", "1\r\nxy\r\n",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece int) {
		whole, pieces := &wire.Chunked{}, &wire.Chunked{}
		data, rest, err := decode(whole, string(raw), len(raw)+1, 64)
		again, restAgain, errAgain := decode(pieces, string(raw), max(piece%16, 1), 7)
		if data != again || !errors.Is(errAgain, err) || err == nil && rest != restAgain {
			t.Errorf("%q %q %v in one piece, %q %q %v in many", data, rest, err, again, restAgain, errAgain)
		}
		if diff := cmp.Diff(whole.Trailer, pieces.Trailer); diff != "" {
			t.Error(diff)
		}
		if err != nil {
			return
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bufio.NewReader(bytes.NewReader(raw))))
		if err != nil || string(theirs) != data {
			t.Errorf("net/http reads %q, %v, not %q", theirs, err, data)
		}
	})
}

func TestAppend(t *testing.T) {
	t.Parallel()
	b := []byte("GET / HTTP/1.1\r\n")
	b = wire.AppendField(b, "A", "1\r\nB: 2\x00")
	b = wire.AppendField(b, "Not a name", "1")
	b = wire.AppendHeader(b, http.Header{"C": {"3", "4"}, "D\n": {"5"}, "E": {}, "F": {"6"}}, func(name string) bool {
		return name == "F"
	})
	b = wire.AppendLength(b, 7)
	b = wire.AppendChunkSize(b, 255)
	b = wire.AppendLastChunk(b, http.Header{"X": {"1"}, "Host": {"h"}})
	for _, status := range []int{200, 404, 299} {
		b = wire.AppendStatusLine(b, 1, status)
	}
	want := "GET / HTTP/1.1\r\nA: 1  B: 2 \r\nC: 3\r\nC: 4\r\nContent-Length: 7\r\nff\r\n0\r\nX: 1\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nHTTP/1.1 404 Not Found\r\nHTTP/1.1 299 status code 299\r\n"
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Error(diff)
	}
}
