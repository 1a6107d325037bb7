package client_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// headTest serialises a request. Lines after the first are sorted, since maps have no order.
type headTest struct {
	name   string
	base   *http.Request
	method string
	url    string
	header http.Header
	change func(r *http.Request)
	want   string
	err    error
}

func bodied() *http.Request { return &http.Request{Body: streamed(strings.NewReader("x"))} }

func goodHeads() []headTest {
	return []headTest{
		{
			name: "GET", url: "http://a.example/b%2Fc?d", header: http.Header{"A": {"1", "2"}},
			want: "GET /b%2Fc?d HTTP/1.1|A: 1|A: 2|Host: a.example",
		},
		{name: "no method, no path", url: "http://a.example", want: "GET / HTTP/1.1|Host: a.example"},
		{name: "an empty query stays", url: "http://a.example/?", want: "GET /? HTTP/1.1|Host: a.example"},
		{name: "OPTIONS for the server", method: "OPTIONS", url: "http://a.example", change: func(r *http.Request) {
			r.URL.Path = "*"
		}, want: "OPTIONS * HTTP/1.1|Host: a.example"},
		{name: "host of its own", url: "http://192.0.2.1:80/", change: func(r *http.Request) {
			r.Host = "b.example:81"
		}, want: "GET / HTTP/1.1|Host: b.example:81"},
		{name: "zones stay at home", url: "http://[fe80::1%25eth0]:80/", want: "GET / HTTP/1.1|Host: [fe80::1]:80"},
		{
			name: "POST without a body", method: "POST", url: "http://a.example/",
			want: "POST / HTTP/1.1|Content-Length: 0|Host: a.example",
		},
		{name: "a length", base: bodied(), method: "POST", url: "http://a.example/", change: func(r *http.Request) {
			r.ContentLength = 7
		}, want: "POST / HTTP/1.1|Content-Length: 7|Host: a.example"},
		{
			name: "no length", base: bodied(), method: "GET", url: "http://a.example/",
			want: "GET / HTTP/1.1|Host: a.example|Transfer-Encoding: chunked",
		},
		{
			name: "chunks in spite of a length", base: bodied(), method: "GET", url: "http://a.example/",
			change: func(r *http.Request) {
				r.ContentLength, r.TransferEncoding = 7, []string{"chunked"}
			}, want: "GET / HTTP/1.1|Host: a.example|Transfer-Encoding: chunked",
		},
		{name: "trailers", base: bodied(), url: "http://a.example/", change: func(r *http.Request) {
			r.ContentLength, r.Trailer = -1, http.Header{"B": nil, "A": nil, "Content-Length": nil, "x\r\n": nil}
		}, want: "GET / HTTP/1.1|Host: a.example|Trailer: A, B|Transfer-Encoding: chunked"},
		{
			name: "framing is ours in any spelling", url: "http://a.example/",
			header: http.Header{
				"content-length": {"5"}, "Content-Length": {"6"}, "tRANSFER-eNCODING": {"chunked"},
				"HOST": {"b"}, "Trailer": {"A"}, "A": {"b"},
			},
			want: "GET / HTTP/1.1|A: b|Host: a.example",
		},
		{name: "close", url: "http://a.example/", header: http.Header{"Connection": {"x"}}, change: func(r *http.Request) {
			r.Close = true
		}, want: "GET / HTTP/1.1|Connection: close|Host: a.example"},
		{name: "another protocol", url: "http://a.example/", header: http.Header{
			"Connection": {"Upgrade"},
			"Upgrade":    {"websocket"},
		}, want: "GET / HTTP/1.1|Connection: Upgrade|Host: a.example|Upgrade: websocket"},
		{
			name: "h2c", url: "http://a.example/", header: http.Header{
				"Connection": {"Upgrade, HTTP2-Settings"},
				"Upgrade":    {"H2C"}, "Http2-Settings": {"x"},
			},
			want: "GET / HTTP/1.1|Host: a.example",
		},
		{
			name: "h2c among others", url: "http://a.example/",
			header: http.Header{
				"Connection": {"Upgrade, HTTP2-Settings", "x"}, "upgrade": {"websocket, h2c"},
				"HTTP2-Settings": {"x"},
			},
			want: "GET / HTTP/1.1|Connection: Upgrade, x|Host: a.example|upgrade: websocket",
		},
	}
}

func badHeads() []headTest {
	return []headTest{
		{name: "CONNECT", method: "CONNECT", url: "http://a.example/", err: client.ErrConnect},
		{name: "method", method: "GET /x", url: "http://a.example/", err: client.ErrMethod},
		{name: "query with a space", url: "http://a.example/", change: func(r *http.Request) {
			r.URL.RawQuery = "a b"
		}, err: wire.ErrTarget},
		{name: "query with a line", url: "http://a.example/", change: func(r *http.Request) {
			r.URL.RawQuery = "a\r\nb"
		}, err: wire.ErrTarget},
		{name: "opaque target with a line", url: "http://a.example/", change: func(r *http.Request) {
			r.URL.Opaque = "a\r\nb"
		}, err: wire.ErrTarget},
		{name: "no host", url: "/", err: wire.ErrNoHost},
		{name: "host with a line", url: "http://a.example/", change: func(r *http.Request) {
			r.Host = "a\r\nb"
		}, err: wire.ErrHost},
		{name: "user in the host", url: "http://a.example/", change: func(r *http.Request) {
			r.Host = "a@b"
		}, err: wire.ErrHost},
		{name: "host with half a zone", url: "http://a.example/", change: func(r *http.Request) {
			r.Host = "]x[%"
		}, err: wire.ErrHost},
		{name: "name", url: "http://a.example/", header: http.Header{"A b": {"c"}}, err: client.ErrFieldName},
		{name: "empty name", url: "http://a.example/", header: http.Header{"": {"c"}}, err: client.ErrFieldName},
		{name: "coding", base: bodied(), url: "http://a.example/", change: func(r *http.Request) {
			r.TransferEncoding = []string{"gzip"}
		}, err: client.ErrEncoding},
	}
}

func TestRequestHeads(t *testing.T) {
	for _, test := range slices.Concat(goodHeads(), badHeads()) {
		t.Run(test.name, func(t *testing.T) {
			r := test.base
			if r == nil {
				r = &http.Request{}
			}
			r.Method, r.Header = test.method, test.header
			var err error
			if r.URL, err = url.Parse(test.url); err != nil {
				t.Fatal(err)
			}
			if test.change != nil {
				test.change(r)
			}
			head, _, err := client.AppendRequest(r)
			if !errors.Is(err, test.err) {
				t.Fatalf("the error is %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			text, ok := strings.CutSuffix(string(head), "\r\n\r\n")
			if !ok {
				t.Fatalf("%q has no end", head)
			}
			lines := strings.Split(text, "\r\n")
			slices.Sort(lines[1:])
			if diff := cmp.Diff(test.want, strings.Join(lines, "|")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestValuesAreChecked(t *testing.T) {
	for _, value := range []string{"a\r\nB: c", "a\nb", "a\x00", "a\x7f"} {
		r := testRequest(t, "GET", "a.example", nil)
		r.Header.Set("A", value)
		if _, _, err := client.AppendRequest(r); err == nil || !strings.Contains(err.Error(), `"A"`) {
			t.Errorf("%q: the error is %v", value, err)
		}
	}
}

// TestInvalidRequestsConnectNowhere demands that nothing is dialled for them, and that their body is closed.
func TestInvalidRequestsConnectNowhere(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, http1test.Answering("HTTP/1.1 200 OK\r\n\r\n"))
	body := &closeCounter{Reader: strings.NewReader("x")}
	r := testRequest(t, "GET", endpoint.Address(), body)
	r.Header["A"] = []string{"\n"}
	var call client.RoundTrip
	if _, err := testUpstream(t, endpoint.Address(), nil).Do(&call, r); err == nil {
		t.Error("it was sent")
	}
	if endpoint.Accepted() != 0 || call.Sent() || body.closed.Load() != 1 {
		t.Errorf("%d connections, sent: %v, closed %d times", endpoint.Accepted(), call.Sent(), body.closed.Load())
	}
}
