package entrypoint_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// TestAmbiguousFraming records the answer to requests whose end two servers may see in different places
// (RFC 9112, sections 6.1, 6.3 and 11.2), and to other requests that clients should not send.
func TestAmbiguousFraming(t *testing.T) {
	t.Parallel()
	const next = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	const smuggled = "0\r\n\r\n" + next
	head := func(lines ...string) string {
		return "POST / HTTP/1.1\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	}
	for _, test := range []struct {
		name, sent string
		// answer is how the only response begins; empty for none.
		answer string
	}{
		{
			"two equal lengths", head("Host: a", "Content-Length: 4", "Content-Length: 4", "Connection: close") + "body",
			"HTTP/1.1 400",
		},
		{"two different lengths", head("Host: a", "Content-Length: 4", "Content-Length: 5") + "body", "HTTP/1.1 400"},
		{"list of lengths", head("Host: a", "Content-Length: 4, 4") + "body", "HTTP/1.1 400"},
		{"signed length", head("Host: a", "Content-Length: +4") + "body", "HTTP/1.1 400"},
		{"negative length", head("Host: a", "Content-Length: -4") + "body", "HTTP/1.1 400"},
		{"hexadecimal length", head("Host: a", "Content-Length: 0x4") + "body", "HTTP/1.1 400"},
		{"empty length", head("Host: a", "Content-Length: ") + "body", "HTTP/1.1 400"},
		{"encoding that is not known", head("Host: a", "Transfer-Encoding: gzip, chunked") + smuggled, "HTTP/1.1 400"},
		{"misspelt encoding", head("Host: a", "Transfer-Encoding: xchunked") + smuggled, "HTTP/1.1 400"},
		{
			"encoding twice", head("Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + smuggled,
			"HTTP/1.1 400",
		},
		{"space before the colon", head("Host: a", "Transfer-Encoding : chunked") + smuggled, "HTTP/1.1 400"},
		{"space before the length's colon", head("Host: a", "Content-Length : 4") + "body", "HTTP/1.1 400"},
		{"folded line", head("Host: a", "Transfer-Encoding:", " chunked", "Connection: close") + "0\r\n\r\n", "HTTP/1.1 400"},
		{
			"encoding in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled,
			"HTTP/1.1 400",
		},
		{"no host", head("Content-Length: 0"), "HTTP/1.1 400"},
		{"two hosts", head("Host: a", "Host: b", "Content-Length: 0"), "HTTP/1.1 400"},
		{"host with a space", head("Host: a b", "Content-Length: 0"), "HTTP/1.1 400"},
		{"NUL in a value", head("Host: a", "X: \x00", "Content-Length: 0"), "HTTP/1.1 400"},
		{"bare CR in a value", head("Host: a", "X: a\rY: b", "Content-Length: 0"), "HTTP/1.1 400"},
		{"no version", "GET /\r\nHost: a\r\n\r\n", "HTTP/1.1 400"},
		{"HTTP/3.0", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", "HTTP/1.1 505"},
		{"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 400"},
		{"userinfo", "GET http://u@h/ HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 400"},
		{"other scheme", "GET ftp://h/ HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 400"},
		{"asterisk", "GET * HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 400"},
		{"preface of HTTP/1.1", "PRI * HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 400"},
		{"dot segment with a parameter", "GET /a/..;/b HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 400"},
		{"tunnel", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 501"},
		{"tunnel with a path", "CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n" + next, "HTTP/1.1 501"},
		{"chunk size with a sign", head("Host: a", "Transfer-Encoding: chunked") + "+1\r\nx\r\n" + smuggled, "HTTP/1.1 400"},
		{
			"bare LF after a chunk size", head("Host: a", "Transfer-Encoding: chunked") + "1;\nx\r\n" + smuggled,
			"HTTP/1.1 400",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 10)
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen <- r.URL.Path
				if _, err := io.ReadAll(r.Body); err != nil {
					http.Error(w, "bad body", http.StatusBadRequest)
				}
			}), nil)
			got := s.raw(test.sent)
			if !strings.HasPrefix(got, test.answer) || strings.Count(got, "HTTP/1.1 ") != 1 ||
				strings.Count(got, "\r\nConnection: close\r\n") != 1 {
				t.Errorf("got %q, want one %q that closes the connection", got, test.answer)
			}
			s.stop()
			s.wait()
			close(seen)
			for path := range seen {
				if path != "/" {
					t.Errorf("a smuggled request reached the handler: %s", path)
				}
			}
		})
	}
}

// TestPipelinedBehindABrokenBody sends a body that breaks off together with bytes that look like the next request, to a
// handler that has begun its response before: the server has those bytes already, and the response can't say that it is
// the last one.
func TestPipelinedBehindABrokenBody(t *testing.T) {
	t.Parallel()
	const next = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, test := range []struct{ name, body string }{
		{"chunk size that is no number", "5\r\nhello\r\nZZ\r\n" + next},
		{"chunk that is longer than its size", "5\r\nhello" + next},
		{"chunk extension without an end", "5;a\nhello\r\n0\r\n\r\n" + next},
		{"trailer that is no field", "0\r\nX: a\r\n: b\r\n\r\n" + next},
	} {
		for _, reads := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, read %v", test.name, reads), func(t *testing.T) {
				t.Parallel()
				seen := make(chan string, 10)
				s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					seen <- r.URL.Path
					_, _ = io.WriteString(w, "early")
					_ = http.NewResponseController(w).Flush()
					if reads {
						_, _ = io.Copy(io.Discard, r.Body)
					}
				}), nil)
				got := s.raw("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + test.body)
				if !strings.HasPrefix(got, "HTTP/1.1 200") || strings.Count(got, "early") != 1 ||
					strings.Count(got, " 200 OK") != 1 {
					t.Errorf("got %q, want one complete response", got)
				}
				s.stop()
				s.wait()
				if len(seen) != 1 {
					t.Errorf("the handler saw %d requests", len(seen))
				}
			})
		}
	}
}

// TestLengthAndEncoding sends a body with two ends (RFC 9112, section 6.3), and a request behind the first of them.
func TestLengthAndEncoding(t *testing.T) {
	t.Parallel()
	for _, order := range []string{
		"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
	} {
		seen := make(chan string, 10)
		s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.URL.Path }), nil)
		got := s.raw("POST / HTTP/1.1\r\nHost: a\r\n" + order +
			"\r\n4\r\nbody\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 400") || strings.Count(got, "HTTP/1.1") != 1 ||
			!strings.Contains(got, "\r\nConnection: close\r\n") {
			t.Errorf("got %q", got)
		}
		if record := s.record(); record.Status != http.StatusBadRequest || record.Entrypoint != "web" ||
			record.Client != "127.0.0.1" || record.Reason == "" {
			t.Errorf("record %+v", record)
		}
		s.stop()
		s.wait()
		if len(seen) != 0 {
			t.Errorf("the handler saw %q", <-seen)
		}
	}
}

func TestCanonicalPath(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.EscapedPath()+" "+r.URL.RawQuery)
	}), func(c *static.EntryPoint) {
		c.HTTP.EncodedCharacters.AllowEncodedSlash = false
		c.HTTP.EncodeQuerySemicolons = true
	})
	for target, want := range map[string]string{
		"/a//b/../c": "200 /a/c ", "/a%2fb": "400", "/%41?a;b": "200 /A a%3Bb", "/a%zz": "400",
	} {
		got := s.raw("GET " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		status, text, _ := strings.Cut(want, " ")
		if !strings.HasPrefix(got, "HTTP/1.1 "+status) || !strings.HasSuffix(got, text) {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}
