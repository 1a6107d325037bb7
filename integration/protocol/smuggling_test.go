package protocol

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// hidden is the request that an attacker smuggles.
const hidden = "GET /hidden HTTP/1.1\r\nHost: any.test\r\n\r\n"

// attack is a message that proxy and endpoint may parse differently.
type attack struct {
	name, bytes string
	// forwarded is the one request that may reach the endpoint; empty means that none may.
	forwarded string
}

func post(fields, body string) string {
	return "POST /case HTTP/1.1\r\nHost: any.test\r\n" + fields + "\r\n" + body
}

func attacks() []attack {
	const five = "POST /case hello"
	all := []attack{
		{"length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), ""},
		{"chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), ""},
		{"two lengths", post("Content-Length: 5\r\nContent-Length: 0\r\n", "hello"), ""},
		{"the same length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), ""},
		{"a list of lengths", post("Content-Length: 5, 5\r\n", "hello"), ""},
		{"a list of different lengths", post("Content-Length: 5, 0\r\n", "hello"), ""},
		{"chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), ""},
		{"chunked is not last", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), ""},
		{"another coding", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), ""},
		{"quoted coding", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), ""},
		{"coding behind a vertical tab", post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"), ""},
		{"space before the colon", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), ""},
		{"length with space before the colon", post("Content-Length : 5\r\n", "hello"), ""},
		{"chunks in HTTP/1.0", "POST /case HTTP/1.0\r\nHost: any.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
		{"chunk size with a prefix", post("Transfer-Encoding: chunked\r\n", "0x5\r\nhello\r\n0\r\n\r\n"), ""},
		{"negative chunk size", post("Transfer-Encoding: chunked\r\n", "-5\r\nhello\r\n0\r\n\r\n"), ""},
		{"chunk size too large", post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff5\r\nhello\r\n0\r\n\r\n"), ""},
		{"chunk longer than its size", post("Transfer-Encoding: chunked\r\n", "3\r\nhello\r\n0\r\n\r\n"), ""},
		{"underscore", post("Transfer_Encoding: chunked\r\nContent-Length: 5\r\n", "hello"), five},
		{"folded field", post("X-Fold: a\r\n b\r\nContent-Length: 5\r\n", "hello"), ""},
		{"folded coding", post("Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n", "hello"), ""},
		{"bare line feeds", strings.ReplaceAll(post("Content-Length: 5\r\n", "hello"), "\r\n", "\n"), ""},
		{
			"first field is folded",
			"POST /case HTTP/1.1\r\n Host: any.test\r\nHost: any.test\r\nContent-Length: 5\r\n\r\nhello", "",
		},
		{"carriage return in a value", post("X-A: a\rContent-Length: 5\r\n", "hello"), ""},
		{"NUL in a value", post("X-A: a\x00b\r\n", ""), ""},
		{"NUL in a name", post("X-A\x00: b\r\n", ""), ""},
		{"space in a name", post("X A: b\r\n", ""), ""},
		{"no name", post(": b\r\n", ""), ""},
		{"no colon", post("X-A\r\n", ""), ""},
		{"no host", "GET /case HTTP/1.1\r\n\r\n", ""},
		{"two hosts", "GET /case HTTP/1.1\r\nHost: any.test\r\nHost: other.test\r\n\r\n", ""},
		{"no host name", "GET /case HTTP/1.1\r\nHost: a b\r\n\r\n", ""},
		{"no version", "GET /longer-case\r\n\r\n", ""},
		{"wrong version", "GET /case HTTP/1.11\r\nHost: any.test\r\n\r\n", ""},
		{"two spaces", "GET  /case HTTP/1.1\r\nHost: any.test\r\n\r\n", ""},
		{"tab for a space", "GET\t/case HTTP/1.1\r\nHost: any.test\r\n\r\n", ""},
		{"no method", " /case HTTP/1.1\r\nHost: any.test\r\n\r\n", ""},
		{
			"upgrade to h2c",
			"GET /case HTTP/1.1\r\nHost: any.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: " +
				"AAMAAABkAAQAAP__\r\n\r\n", "GET /case ",
		},
		{"trailers that frame", post("Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n",
			"5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"), ""},
		{"trailers that frame, not announced", post("Transfer-Encoding: chunked\r\n",
			"5\r\nhello\r\n0\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\nHost: evil\r\n\r\n"), five},
		{"body of GET", "GET /case HTTP/1.1\r\nHost: any.test\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" +
			hidden, "GET /case " + hidden},
		{"unfinished body", post("Content-Length: 50\r\n", "hello"), ""},
		{"unfinished chunks", post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"), ""},
	}
	for _, length := range []string{"+5", "-5", "0x5", "5.0", "", "5 5", "٥", "99999999999999999999"} {
		all = append(all, attack{"length " + length, post("Content-Length: "+length+"\r\n", "hello"), ""})
	}
	return all
}

// TestSmuggling sends what is ambiguous on one connection each. The endpoint gets one well-formed request or nothing,
// and the next client's request arrives whole.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	for _, attack := range attacks() {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			endpoint := startTap(t)
			s := startEdge(t, endpoint.address)
			hostile := harness.Dial(t, s.Addr("wary"))
			if _, err := hostile.Write([]byte(attack.bytes)); err != nil {
				t.Fatal(err)
			}
			answer := attack.expectAnswer(t, hostile)
			// Whatever was left behind on a connection to the endpoint would come before this.
			next := harness.NewClient(t, harness.H1, s.Addr("wary"), "any.test", nil).Get("/next")
			if next.StatusCode != http.StatusOK || next.Text != "answer to /next" {
				t.Errorf("the next client got status %d, %q", next.StatusCode, next.Text)
			}
			attack.expectSeen(t, endpoint, answer)
		})
	}
}

// expectAnswer expects one response and nothing more: 200 when the request may be forwarded, 4xx or 5xx and the end of
// the connection when not. It returns the status.
func (a attack) expectAnswer(t *testing.T, hostile *harness.Raw) int {
	t.Helper()
	if strings.HasPrefix(a.name, "unfinished") {
		hostile.End()
	}
	got, err := hostile.Response()
	if err != nil {
		if a.forwarded != "" || !a.breaksOff() {
			t.Errorf("no answer: %v", err)
		}
		return 0
	}
	if ok := got.StatusCode == http.StatusOK; ok != (a.forwarded != "") {
		t.Errorf("status %d", got.StatusCode)
	}
	if !got.Close {
		if a.forwarded == "" {
			t.Error("the connection goes on")
		}
		hostile.End()
	}
	if rest := hostile.Rest(); rest != "" {
		t.Errorf("another answer: %q", rest)
	}
	return got.StatusCode
}

// TestLengthAndChunks hides a request behind a body whose length is ambiguous (RFC 9112 section 6.3). It is refused,
// the connection is closed, and the endpoint receives nothing of it.
func TestLengthAndChunks(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{
		"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: %d\r\n",
	} {
		endpoint := startTap(t)
		s := startEdge(t, endpoint.address)
		body := "0\r\n\r\n" + hidden
		hostile := harness.Dial(t, s.Addr("wary"))
		if got, err := hostile.RoundTrip(post(fmt.Sprintf(fields, len(body)), body)); err != nil ||
			got.StatusCode != http.StatusBadRequest || !got.Close {
			t.Errorf("the answer: %+v, %v", got, err)
		}
		if rest := hostile.Rest(); rest != "" {
			t.Errorf("another answer: %q", rest)
		}
		if seen, err := endpoint.requests(); err != nil || len(seen) != 0 {
			t.Errorf("the endpoint saw %q, %v", seen, err)
		}
	}
}

// breaksOff is set if the head is well-formed, so that the endpoint may receive it before the body turns out to be
// malformed.
func (a attack) breaksOff() bool {
	return strings.HasPrefix(a.name, "unfinished") || strings.Contains(a.name, "chunk size") || strings.HasPrefix(a.name,
		"chunk longer")
}

func (a attack) expectSeen(t *testing.T, endpoint *tap, status int) {
	t.Helper()
	seen, err := endpoint.requests()
	want := []string{"GET /next "}
	if a.forwarded != "" {
		want = []string{a.forwarded, "GET /next "}
	}
	if a.breaksOff() {
		// A request that breaks off, on a connection that is of no use afterwards.
		if strings.Contains(strings.Join(seen, "\n"), "POST") {
			t.Errorf("the endpoint took it for complete: %q; the client got %d", seen, status)
		}
		return
	}
	if err != nil || strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("the endpoint saw %q, %v; want %q; the client got %d", seen, err, want, status)
	}
}
