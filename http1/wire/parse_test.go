package wire_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/wire"
)

func parseRequest(raw string) (*wire.Request, *url.URL, error) {
	b := []byte(raw)
	var s wire.Scanner
	n, err := s.Scan(b, wire.Limits{HeadBytes: 4096, Fields: 50})
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, errors.New("incomplete")
	}
	r := &wire.Request{}
	if err := r.Parse(b[:n]); err != nil {
		return nil, nil, err
	}
	u := &url.URL{}
	r.Host, err = r.URL(u)
	return r, u, err
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	r, u, err := parseRequest("POST /a/b?c=d HTTP/1.1\r\nhost: example.com:80\r\nx-one:1\r\nX-ONE: \t2 " +
		"\t\r\nCONNECTION: Keep-Alive, x , Upgrade\r\n" +
		"transfer-encoding: Chunked\r\ntrailer: x-sum, Authorization\r\nX_y: \r\nx-é: no\r\n\r\n")
	if !errors.Is(err, wire.ErrName) {
		t.Fatalf("%v %v %v", r, u, err)
	}
	r, u, err = parseRequest("POST /a/b?c=d HTTP/1.1\r\nhost: example.com:80\r\nx-one:1\r\nX-ONE: \t2 " +
		"\t\r\nCONNECTION: Keep-Alive, x , Upgrade\r\n" +
		"transfer-encoding: Chunked\r\ntrailer: x-sum, Authorization\r\nX_y: \r\nx-e: é\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	want := http.Header{"X-One": {"1", "2"}, "Connection": {"Keep-Alive, x , Upgrade"}, "X_y": {""}, "X-E": {"é"}}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Error(diff)
	}
	if r.Method != "POST" || r.Target != "/a/b?c=d" || r.Version != "HTTP/1.1" || r.Host != "example.com:80" ||
		!r.Chunked || r.Length != -1 ||
		!r.KeepAlive || !r.Upgrade || r.Close || !r.Persistent() || r.Framing() != wire.ChunkedBody {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(http.Header{"X-Sum": nil}, r.Announced); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&url.URL{Path: "/a/b", RawQuery: "c=d"}, u); diff != "" {
		t.Error(diff)
	}
	// Values that share an array must not share their room.
	_ = append(r.Header["Connection"], "other")
	if r.Header["X_y"][0] != "" || r.Header["X-E"][0] != "é" {
		t.Errorf("append reached a neighbour: %v", r.Header)
	}
}

// TestURL compares with what net/url makes of a target.
func TestURL(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"/", "/a", "/a?", "/a??", "/a?b", "/a?b?c", "/a%20b", "/a%2fb?%zz", "//a/b", "///a", "/a:b", "/a;b=c", "/a|b", "/é",
		"/[x]", "/a!b", "*",
		"http://h", "http://h/p?q", "HTTP://H:8/p", "https://[::1]:8/", "/a@b", "/~a",
	} {
		r, u, err := parseRequest("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		want, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, u); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
		if host := want.Host; host != "" && r.Host != host || host == "" && r.Host != "a" {
			t.Errorf("%s: host %q", target, r.Host)
		}
	}
}

// refusedCase is a head that has more than one reading.
type refusedCase struct {
	name, raw string
	want      error
}

func post(lines ...string) string {
	return "POST / HTTP/1.1\r\n" + strings.Join(append([]string{"Host: a"}, lines...), "\r\n") + "\r\n\r\n"
}

func refusedLines() []refusedCase {
	return []refusedCase{
		{"bare LF", "GET / HTTP/1.1\nHost: a\n\n", wire.ErrBareLF},
		{"bare LF in the middle", post("X: 1\nY: 2"), wire.ErrBareLF},
		{"blank line of a bare LF", "GET / HTTP/1.1\r\nHost: a\r\n\n", wire.ErrBareLF},
		{"LF first", "\nGET / HTTP/1.1\r\n\r\n", wire.ErrBareLF},
		{"bare CR in the request line", "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrBareCR},
		{"bare CR in a name", post("X\rY: 1"), wire.ErrBareCR},
		{"bare CR in a value", post("X: 1\rY: 2"), wire.ErrBareCR},
		{"CR CR LF", post("X: 1\r"), wire.ErrBareCR},
		{"no version", "GET /\r\nHost: a\r\n\r\n", wire.ErrRequestLine},
		{"no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrRequestLine},
		{"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"tab as separator", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrRequestLine},
		{"space first", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrMethod},
		{"method with a colon", "GE:T / HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrMethod},
		{"method with NUL", "G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrMethod},
		{"target with NUL", "GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"relative target", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"invalid encoding", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"opaque target", "GET http:a HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"absolute target without host", "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrTarget},
		{"userinfo", "GET http://u:p@h/ HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrUserinfo},
		{"absolute target with a port alone", "GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrHost},
		{"absolute target with a zone", "GET http://[::1%25eth0]/ HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrHost},
		{"absolute target with a port out of range", "GET http://h:65536/ HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrHost},
		{"absolute target with a host encoded twice", "GET http://h%252e/ HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrHost},
		{"absolute target and an invalid Host", "GET http://h/ HTTP/1.1\r\nHost: a:b\r\n\r\n", wire.ErrHost},
		{"authority with a port alone", "CONNECT :80 HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrHost},
		{"userinfo in Host", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", wire.ErrUserinfo},
		{"HTTP/2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", wire.ErrMajor},
		{"HTTP/0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", wire.ErrMajor},
		{"lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", wire.ErrVersion},
		{"version of one digit", "GET / HTTP/1\r\nHost: a\r\n\r\n", wire.ErrVersion},
		{"version of three digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", wire.ErrVersion},
		{"space after the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", wire.ErrVersion},
		{"long line", "GET /" + strings.Repeat("a", 5000) + " HTTP/1.1\r\nHost: a\r\n\r\n", wire.ErrLineTooLong},
		{"long head", post("X: " + strings.Repeat("a", 5000)), wire.ErrHeadTooLarge},
		{"long head that goes on", "GET / HTTP/1.1\r\nX: " + strings.Repeat("a", 5000), wire.ErrHeadTooLarge},
		{"many fields", post(strings.Repeat("X: 1\r\n", 60) + "Y: 1"), wire.ErrTooManyFields},
	}
}

func refusedFields() []refusedCase {
	return []refusedCase{
		{"no Host", "GET / HTTP/1.1\r\n\r\n", wire.ErrNoHost},
		{"two Hosts", post("Host: a"), wire.ErrHosts},
		{"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", wire.ErrHosts},
		{"Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", wire.ErrHost},
		{"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", wire.ErrHost},
		{"Host that is a port", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", wire.ErrHost},
		{"Host with a name for a port", "GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", wire.ErrHost},
		{"Host with two ports", "GET / HTTP/1.0\r\nHost: a:80:80\r\n\r\n", wire.ErrHost},
		{"Host with a port out of range", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", wire.ErrHost},
		{"Host with an open bracket", "GET / HTTP/1.1\r\nHost: [2001:db8::1\r\n\r\n", wire.ErrHost},
		{"Host with something behind a bracket", "GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", wire.ErrHost},
		{"Host with a zone", "GET / HTTP/1.1\r\nHost: [::1%25eth0]\r\n\r\n", wire.ErrHost},
		{"Host with a percent sign", "GET / HTTP/1.1\r\nHost: a%zz\r\n\r\n", wire.ErrHost},
		{"folded line", post("X: 1", " 2"), wire.ErrFold},
		{"folded line with a tab", post("X: 1", "\t2"), wire.ErrFold},
		{"space before the first field", "GET / HTTP/1.1\r\n X: 1\r\nHost: a\r\n\r\n", wire.ErrFold},
		{"space before the colon", post("X : 1"), wire.ErrSpaceBeforeColon},
		{"tab before the colon", post("X\t: 1"), wire.ErrSpaceBeforeColon},
		{"space in a name", post("X Y: 1"), wire.ErrName},
		{"no colon", post("X"), wire.ErrName},
		{"no name", post(": 1"), wire.ErrName},
		{"NUL in a name", post("X\x00: 1"), wire.ErrName},
		{"NUL in a value", post("X: 1\x002"), wire.ErrValue},
		{"control character in a long value", post("X: 0123456789abcdef\x01ghijklmnopqrstuvwxyz"), wire.ErrValue},
		{"DEL in a value", post("X: 0123456789abcdef\x7f"), wire.ErrValue},
		{"vertical tab before a value", post("Transfer-Encoding: \x0bchunked"), wire.ErrValue},
		{"signed length", post("Content-Length: +4"), wire.ErrLength},
		{"negative length", post("Content-Length: -4"), wire.ErrLength},
		{"hexadecimal length", post("Content-Length: 0x4"), wire.ErrLength},
		{"length with an underscore", post("Content-Length: 1_0"), wire.ErrLength},
		{"length with a space", post("Content-Length: 1 0"), wire.ErrLength},
		{"empty length", post("Content-Length: "), wire.ErrLength},
		{"overlong length", post("Content-Length: 9999999999999999999"), wire.ErrLength},
		{"list of lengths", post("Content-Length: 4, 4"), wire.ErrLength},
		{"repeated length", post("Content-Length: 4", "Content-Length: 4"), wire.ErrLengths},
		{"length and encoding", post("Content-Length: 4", "Transfer-Encoding: chunked"), wire.ErrLengthAndEncoding},
		{"encoding and length", post("Transfer-Encoding: chunked", "content-length: 4"), wire.ErrLengthAndEncoding},
		{"unknown encoding", post("Transfer-Encoding: gzip"), wire.ErrEncoding},
		{"two encodings", post("Transfer-Encoding: gzip, chunked"), wire.ErrEncoding},
		{"chunked twice in a list", post("Transfer-Encoding: chunked, chunked"), wire.ErrEncoding},
		{"chunked twice", post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), wire.ErrEncoding},
		{"identity", post("Transfer-Encoding: identity"), wire.ErrEncoding},
		{"empty encoding", post("Transfer-Encoding:"), wire.ErrEncoding},
		{"quoted encoding", post(`Transfer-Encoding: "chunked"`), wire.ErrEncoding},
		{"encoding with a parameter", post("Transfer-Encoding: chunked;a=b"), wire.ErrEncoding},
		{"misspelt encoding", post("Transfer-Encoding: xchunked"), wire.ErrEncoding},
		{"encoding with a disguise", post("Transfer-Encoding: chunKed\xe2\x84\xaa"), wire.ErrEncoding},
		{"encoding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", wire.ErrEncodingVersion},
		{"announced length", post("Transfer-Encoding: chunked", "Trailer: a, content-length"), wire.ErrTrailerName},
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for _, test := range append(refusedLines(), refusedFields()...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := parseRequest(test.raw); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
