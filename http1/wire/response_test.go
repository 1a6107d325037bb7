package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/wire"
)

func parseResponse(raw string) (*wire.Response, int, error) {
	b := []byte(raw)
	var s wire.Scanner
	n, err := s.Scan(b, wire.Limits{})
	if err != nil || n == 0 {
		return nil, 0, errors.Join(err, errors.New("incomplete"))
	}
	r := &wire.Response{}
	return r, n, r.Parse(b[:n])
}

func TestParseResponse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		raw    string
		status int
		reason string
		method string
		want   wire.Framing
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "OK", "GET", wire.FixedLength},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "OK", "HEAD", wire.NoBody},
		{"HTTP/1.1 200 Very well\r\ncontent-length: 0\r\n\r\n", 200, "Very well", "GET", wire.NoBody},
		{"HTTP/1.1 404\r\n\r\n", 404, "", "GET", wire.UntilClose},
		{"HTTP/1.1 404 \r\n\r\n", 404, "", "GET", wire.UntilClose},
		{"HTTP/1.0 299 \xe9t\xe9\r\n\r\n", 299, "\xe9t\xe9", "GET", wire.UntilClose},
		{"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204, "No Content", "GET", wire.NoBody},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, "Not Modified", "GET", wire.NoBody},
		{"HTTP/1.1 103 Early Hints\r\n\r\n", 103, "Early Hints", "GET", wire.NoBody},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n", 200, "OK", "GET", wire.ChunkedBody},
	} {
		r, _, err := parseResponse(test.raw)
		if err != nil {
			t.Errorf("%q: %v", test.raw, err)
			continue
		}
		if r.Status != test.status || r.Reason != test.reason || r.Framing(test.method) != test.want {
			t.Errorf("%q: %+v, framing %d", test.raw, r, r.Framing(test.method))
		}
	}
}

func TestRefusedResponses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]error{
		"HTTP/1.1 200 OK\nX: 1\n\n":   wire.ErrBareLF,
		"HTTP/1.1 20 OK\r\n\r\n":      wire.ErrStatusLine,
		"HTTP/1.1 2000 OK\r\n\r\n":    wire.ErrStatusLine,
		"HTTP/1.1 099 OK\r\n\r\n":     wire.ErrStatusLine,
		"HTTP/1.1  200 OK\r\n\r\n":    wire.ErrStatusLine,
		"HTTP/1.1 +20 OK\r\n\r\n":     wire.ErrStatusLine,
		"ICY 200 OK 12345\r\n\r\n":    wire.ErrStatusLine,
		"HTTP/2.0 200 OK\r\n\r\n":     wire.ErrMajor,
		"HTTQ/1.1 200 OK\r\n\r\n":     wire.ErrVersion,
		"HTTP/1.1 200 O\x00K\r\n\r\n": wire.ErrValue,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n":                wire.ErrLengths,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n":       wire.ErrLengthAndEncoding,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n": wire.ErrEncoding,
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n":                            wire.ErrEncodingVersion,
		"HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n":                                            wire.ErrFold,
		"HTTP/1.1 200 OK\r\nX : 1\r\n\r\n":                                                 wire.ErrSpaceBeforeColon,
	} {
		if _, _, err := parseResponse(raw); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", raw, err, want)
		}
	}
}

// FuzzResponse asserts that what is accepted means the same to net/http.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.0 404\r\nx: 1\r\nX:2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, _, err := parseResponse(string(raw))
		if err != nil || ours.Header["Pragma"] != nil {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), &http.Request{Method: http.MethodGet})
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", raw, err)
		}
		sameHeader(t, raw, theirs.Header, ours.Header)
		if theirs.StatusCode != ours.Status || !wire.BodilessStatus(ours.Status) &&
			(len(theirs.TransferEncoding) > 0) != (ours.Framing("GET") == wire.ChunkedBody) {
			t.Errorf("%q: net/http %+v, ours %+v", raw, theirs, ours)
		}
	})
}

// FuzzRequest asserts that what is accepted means the same to net/http.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /a?b HTTP/1.1\r\nhost: a:8\r\ncontent-length: 5\r\nx: y\r\nX: z\r\n\r\n",
		"POST http://h/p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close, x\r\n\r\n",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, u, err := parseRequest(string(raw))
		if err != nil || ours.Header["Pragma"] != nil {
			return
		}
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", raw, err)
		}
		sameHeader(t, raw, theirs.Header, ours.Header)
		if theirs.Method != ours.Method || theirs.RequestURI != ours.Target || theirs.Host != ours.Host ||
			theirs.URL.String() != u.String() || theirs.Close == ours.Persistent() ||
			(theirs.ContentLength < 0) != ours.Chunked || ours.Length > 0 && theirs.ContentLength != ours.Length {
			t.Errorf("%q: net/http %+v, ours %+v", raw, theirs, ours)
		}
	})
}

func sameHeader(t *testing.T, raw []byte, theirs, ours http.Header) {
	t.Helper()
	for name := range ours {
		if strings.ToLower(name) == "trailer" {
			delete(ours, name)
			delete(theirs, name)
		}
	}
	delete(theirs, "Trailer")
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%q: %s", raw, diff)
	}
}

// browserFields are 18 fields.
func browserFields() string {
	var b strings.Builder
	for i := range 9 {
		fmt.Fprintf(&b,
			"sec-ch-ua-mobile-%d: ?0\r\nAccept-Encoding-%d: text/html,application/xhtml+xml,application/xml;q=0.9\r\n", i, i)
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	for name, raw := range map[string]string{
		"small": "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"browser": "GET /shop/articles?page=2 HTTP/1.1\r\nHost: shop.example.com\r\n" + browserFields() + "Cookie: " +
			strings.Repeat("0123456789abcdef", 64) + "\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			source, buffer := []byte(raw), make([]byte, len(raw))
			values := make([]string, 0, 32)
			for b.Loop() {
				copy(buffer, source)
				var s wire.Scanner
				n, err := s.Scan(buffer, wire.Limits{HeadBytes: 1 << 20, Fields: 200})
				if err != nil || n != len(buffer) {
					b.Fatal(n, err)
				}
				r := wire.Request{Message: wire.Message{Values: values}}
				if err := r.Parse(buffer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSerialise(b *testing.B) {
	header := http.Header{}
	for _, name := range []string{
		"Content-Type", "Cache-Control", "Etag", "Last-Modified", "Server", "Set-Cookie", "Vary",
		"X-Frame-Options",
	} {
		header.Set(name, "some value of an ordinary length")
	}
	buffer := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buffer = wire.AppendHeader(wire.AppendStatusLine(buffer[:0], 1, 200), header, nil)
	}
}
