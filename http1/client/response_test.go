package client_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// outcomeOf is what a client makes of the bytes of a response.
type outcomeOf struct {
	Status  int
	Header  http.Header
	Body    string
	Trailer http.Header
	Failed  bool
}

func take(response *http.Response, err error) outcomeOf {
	if err != nil {
		return outcomeOf{Failed: true}
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return outcomeOf{
		Status: response.StatusCode, Header: response.Header, Body: string(body), Trailer: response.Trailer,
		Failed: err != nil,
	}
}

// responseTest sends the bytes of a response, and closes the connection if closes is set. kept is whether the
// connection serves another request.
type responseTest struct {
	name, method, bytes string
	closes, kept        bool
	want                outcomeOf
}

const statusOK = "HTTP/1.1 200 OK\r\n"

func goodResponses() []responseTest {
	const ok = statusOK
	long := strings.Repeat("x", 100_000)
	return []responseTest{
		{
			"length", "GET", ok + "Content-Length: 5\r\nA: b\r\n\r\nhello", false, true,
			outcomeOf{200, http.Header{"Content-Length": {"5"}, "A": {"b"}}, "hello", nil, false},
		},
		{"no content", "GET", "HTTP/1.1 204 No Content\r\n\r\n", false, true, outcomeOf{204, http.Header{}, "", nil, false}},
		{
			"204 with a body", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", false, false,
			outcomeOf{204, http.Header{"Content-Length": {"3"}}, "", nil, false},
		},
		{
			"204 in chunks", "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, false,
			outcomeOf{204, http.Header{}, "", nil, false},
		},
		{
			"not modified with the length of what there is", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n",
			false, true,
			outcomeOf{304, http.Header{"Content-Length": {"3"}}, "", nil, false},
		},
		{
			"304 with a body", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nabc", false, false,
			outcomeOf{304, http.Header{"Content-Length": {"3"}}, "", nil, false},
		},
		{
			"HEAD", "HEAD", ok + "Content-Length: 500\r\n\r\n", false, true,
			outcomeOf{200, http.Header{"Content-Length": {"500"}}, "", nil, false},
		},
		{"HEAD in chunks", "HEAD", ok + "Transfer-Encoding: chunked\r\n\r\n", false, true, outcomeOf{
			200,
			http.Header{},
			"",
			nil, false,
		}},
		{
			"HEAD with a body", "HEAD", ok + "Content-Length: 3\r\n\r\nabc", false, false,
			outcomeOf{200, http.Header{"Content-Length": {"3"}}, "", nil, false},
		},
		{
			"chunks", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", false, true,
			outcomeOf{200, http.Header{}, "abcde", nil, false},
		},
		{
			"trailers", "GET",
			ok + "Trailer: A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: 1\r\nB: 2\r\nContent-Length: 5\r\n\r\n",
			false, true,
			outcomeOf{200, http.Header{}, "a", http.Header{"A": {"1"}, "B": {"2"}}, false},
		},
		{"until close", "GET", ok + "\r\nall of it", true, false, outcomeOf{200, http.Header{}, "all of it", nil, false}},
		{"until close in 1.0", "GET", "HTTP/1.0 200 OK\r\n\r\nall of it", true, false, outcomeOf{
			200,
			http.Header{},
			"all of it", nil, false,
		}},
		{
			"1.0 does not stay", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, false,
			outcomeOf{200, http.Header{"Content-Length": {"1"}}, "a", nil, false},
		},
		{
			"1.0 with keep-alive stays", "GET", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na", false,
			true,
			outcomeOf{200, http.Header{"Content-Length": {"1"}, "Connection": {"Keep-Alive"}}, "a", nil, false},
		},
		{
			"close", "GET", ok + "Connection: foo, Close\r\nContent-Length: 1\r\n\r\na", false, false,
			outcomeOf{200, http.Header{"Content-Length": {"1"}, "Connection": {"foo, Close"}}, "a", nil, false},
		},
		{
			"surplus", "GET", ok + "Content-Length: 1\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n", false, false,
			outcomeOf{200, http.Header{"Content-Length": {"1"}}, "a", nil, false},
		},
		{
			"surplus after chunks", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", false,
			false,
			outcomeOf{200, http.Header{}, "", nil, false},
		},
		{"informational", "GET", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok +
			"Content-Length: 0\r\n\r\n", false, true, outcomeOf{200, http.Header{"Content-Length": {"0"}}, "", nil, false}},
		{
			"large", "GET", ok + "Content-Length: 100000\r\n\r\n" + long, false, true,
			outcomeOf{200, http.Header{"Content-Length": {"100000"}}, long, nil, false},
		},
		{
			"large in chunks", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n186A0\r\n" + long + "\r\n0\r\n\r\n", false, true,
			outcomeOf{200, http.Header{}, long, nil, false},
		},
		{
			"large head", "GET", ok + "A: " + long + "\r\nContent-Length: 2\r\n\r\nok", false, true,
			outcomeOf{200, http.Header{"A": {long}, "Content-Length": {"2"}}, "ok", nil, false},
		},
		{"cut", "GET", ok + "Content-Length: 5\r\n\r\nhel", true, false, outcomeOf{
			200,
			http.Header{"Content-Length": {"5"}},
			"hel", nil, true,
		}},
		{
			"cut in chunks", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true, false,
			outcomeOf{200, http.Header{}, "hello", nil, true},
		},
	}
}

// badResponses have more than one reading, or none.
func badResponses() []responseTest {
	const ok = statusOK
	long := strings.Repeat("x", 100_000)
	return []responseTest{
		{
			"length and chunks", "GET", ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, false,
			outcomeOf{Failed: true},
		},
		{
			"two lengths", "GET", ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", false, false,
			outcomeOf{Failed: true},
		},
		{"signed length", "GET", ok + "Content-Length: +5\r\n\r\nhello", false, false, outcomeOf{Failed: true}},
		{
			"unknown coding", "GET", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", false, false,
			outcomeOf{Failed: true},
		},
		{
			"chunks in 1.0", "GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true, false,
			outcomeOf{Failed: true},
		},
		{"bare line feeds", "GET", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", false, false, outcomeOf{Failed: true}},
		{"folded", "GET", ok + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n", false, false, outcomeOf{Failed: true}},
		{"space before the colon", "GET", ok + "Content-Length : 0\r\n\r\n", false, false, outcomeOf{Failed: true}},
		{"NUL", "GET", ok + "A: b\x00\r\n\r\n", false, false, outcomeOf{Failed: true}},
		{"bad chunk size", "GET", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", false, false, outcomeOf{
			200,
			http.Header{},
			"", nil, true,
		}},
		{"no HTTP", "GET", "SSH-2.0-OpenSSH_9.9\r\n\r\n", false, false, outcomeOf{Failed: true}},
		{"nothing", "GET", "", true, false, outcomeOf{Failed: true}},
		{"half a head", "GET", "HTTP/1.1 200 OK\r\nA: b\r\n", true, false, outcomeOf{Failed: true}},
		{
			"unrequested switch", "GET",
			"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false, false,
			outcomeOf{Failed: true},
		},
		{
			"endless information", "GET", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100) + ok + "\r\n", true, false,
			outcomeOf{Failed: true},
		},
		{"endless head", "GET", ok + strings.Repeat("A: "+long+"\r\n", 11) + "\r\n", true, false, outcomeOf{Failed: true}},
		{"too many fields", "GET", ok + strings.Repeat("A: b\r\n", 1001) + "\r\n", true, false, outcomeOf{Failed: true}},
	}
}

func TestResponses(t *testing.T) {
	for _, test := range slices.Concat(goodResponses(), badResponses()) {
		t.Run(test.name, func(t *testing.T) {
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				for conn.Head() != "" {
					conn.Say(test.bytes)
					if test.closes {
						return
					}
				}
			})
			upstream := testUpstream(t, endpoint.Address(), nil)
			for range 2 {
				got := take(upstream.RoundTrip(testRequest(t, test.method, endpoint.Address(), nil)))
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatal(diff)
				}
			}
			want := 2
			if test.kept {
				want = 1
			}
			if got := endpoint.Accepted(); got != want {
				t.Errorf("%d connections, want %d", got, want)
			}
		})
	}
}

func TestMalformedResponsesSayWhy(t *testing.T) {
	endpoint := http1test.NewEndpoint(t,
		http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"))
	_, err := testUpstream(t, endpoint.Address(), nil).RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))
	if !errors.Is(err, wire.ErrLengths) {
		t.Errorf("the error is %v", err)
	}
}

func TestResponsesAreDescribed(t *testing.T) {
	endpoint := http1test.NewEndpoint(t,
		http1test.Answering("HTTP/1.1 404 Not Here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
	r := testRequest(t, "GET", endpoint.Address(), nil)
	response, err := testUpstream(t, endpoint.Address(), nil).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(response.Body)
	if response.Status != "404 Not Here" || response.Proto != "HTTP/1.1" || response.ContentLength != -1 ||
		response.Request != r ||
		len(response.TransferEncoding) != 1 || response.Close || response.Uncompressed {
		t.Errorf("the response is %+v", response)
	}
}

// TestEndedBodies reads bodies after their end, while the connection serves another request.
func TestEndedBodies(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	upstream := testUpstream(t, endpoint.Address(), nil)
	get := func() io.ReadCloser {
		response, err := upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))
		if err != nil {
			t.Fatal(err)
		}
		return response.Body
	}
	read, closed := get(), io.ReadCloser(nil)
	if text, err := io.ReadAll(read); err != nil || string(text) != "hello" {
		t.Fatalf("%q, %v", text, err)
	}
	closed = get()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	current := get()
	var p [10]byte
	if n, err := read.Read(p[:]); n != 0 || err != io.EOF {
		t.Errorf("a body that was read: %d, %v", n, err)
	}
	if n, err := closed.Read(p[:]); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("a body that was closed: %d, %v", n, err)
	}
	_ = read.Close()
	_ = closed.Close()
	if text, err := io.ReadAll(current); err != nil || string(text) != "hello" {
		t.Errorf("the body of another request: %q, %v", text, err)
	}
	if got := endpoint.Accepted(); got != 1 {
		t.Errorf("%d connections: a rest that is there already should not cost one", got)
	}
}
