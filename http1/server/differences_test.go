package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// script is a connection in memory whose client sends bytes and then half-closes.
type script struct {
	mutex sync.Mutex
	in    *bytes.Reader
	out   bytes.Buffer
}

func (s *script) Read(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.in.Read(p)
}

func (s *script) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.out.Write(p)
}

func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return noAddr{} }
func (s *script) RemoteAddr() net.Addr             { return noAddr{} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// observed is what a server made of some bytes.
type observed struct {
	// requests are what the handler saw, answers what the client got.
	requests []string
	answers  []string
	// reasons are why http1 refused a head or a body.
	reasons []error
	raw     string
}

// observer is a handler that notes what it sees, and answers as the query says.
type observer struct {
	seen *observed
}

func (o observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	var err error
	has := func(mode string) bool { return strings.Contains(r.URL.RawQuery, mode) }
	if !has("unread") {
		body, err = io.ReadAll(r.Body)
	}
	if reason, ok := errors.AsType[*wire.Error](err); ok {
		o.seen.reasons = append(o.seen.reasons, reason)
	}
	trailer := maps.Clone(r.Trailer)
	if len(trailer) == 0 {
		trailer = nil
	}
	o.seen.requests = append(o.seen.requests,
		fmt.Sprintf("%s %q %q %s host=%q header=%v length=%d encoding=%v close=%v trailer=%v body=%q broken=%v",
			r.Method, r.RequestURI, r.URL.String(), r.Proto, r.Host, r.Header, r.ContentLength, r.TransferEncoding, r.Close,
			trailer, body, err != nil))
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	o.answer(w, has, body)
}

func (o observer) answer(w http.ResponseWriter, has func(string) bool, body []byte) {
	h := w.Header()
	switch {
	case has("hints"):
		h.Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
	case has("none"):
		w.WriteHeader(http.StatusNoContent)
		return
	case has("same"):
		h.Set("Content-Length", "5")
		w.WriteHeader(http.StatusNotModified)
		return
	case has("close"):
		h.Set("Connection", "close")
	case has("missing"):
		http.NotFound(w, nil)
		return
	case has("trailers"):
		h.Set("Trailer", "X-A")
	case has("length"):
		h.Set("Content-Length", "3")
		_, _ = io.WriteString(w, "abc")
		return
	case has("short"):
		h.Set("Content-Length", "9")
		_, _ = io.WriteString(w, "abc")
		return
	case has("large"):
		_, _ = io.WriteString(w, strings.Repeat("x", 20_000))
		return
	}
	_, _ = w.Write(body)
	if has("flush") {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "after")
	}
	if has("trailers") {
		h.Set("X-A", "1")
	}
}

// readAnswers splits what a server has sent.
func (o *observed) readAnswers(raw []byte) {
	o.raw = string(raw)
	reader := bufio.NewReader(bytes.NewReader(raw))
	for final := 0; ; {
		method := http.MethodGet
		if final < len(o.requests) {
			method, _, _ = strings.Cut(o.requests[final], " ")
		}
		if _, err := reader.Peek(1); err != nil {
			return
		}
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			o.answers = append(o.answers, "unreadable")
			return
		}
		if response.StatusCode >= 200 {
			final++
		}
		body, err := io.ReadAll(response.Body)
		response.Header.Del("Date")
		if refusal(response) {
			o.answers = append(o.answers, fmt.Sprint("refused ", response.StatusCode))
			return
		}
		o.answers = append(o.answers, fmt.Sprintf("%d %v close=%v length=%d encoding=%v trailer=%v body=%q broken=%v",
			response.StatusCode, response.Header,
			response.Close, response.ContentLength, response.TransferEncoding, response.Trailer, body, err != nil))
	}
}

// refusal reports whether a server has answered without the handler.
func refusal(response *http.Response) bool {
	return response.StatusCode == http.StatusExpectationFailed || response.StatusCode >= 400 && response.Close &&
		response.StatusCode != http.StatusNotFound
}

// serveOurs and serveTheirs send bytes to http1 and to net/http.
func serveOurs(sent []byte) *observed {
	seen := &observed{}
	conn := &script{in: bytes.NewReader(sent)}
	tested := &server.Server{Handler: observer{seen}, MaxHeaderBytes: 1 << 20}
	tested.Refused = func(_ net.Conn, reason *wire.Error) { seen.reasons = append(seen.reasons, reason) }
	server.Poison(tested)
	tested.ServeConn(context.Background(), conn)
	seen.readAnswers(conn.out.Bytes())
	return seen
}

// oneConn is a listener that has one connection.
type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return noAddr{} }

func serveTheirs(sent []byte) *observed {
	seen := &observed{}
	conn := &script{in: bytes.NewReader(sent)}
	over := make(chan struct{})
	listener := oneConn{make(chan net.Conn, 1), over}
	listener.conn <- conn
	server := &http.Server{
		Handler: observer{seen}, ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(over)
			}
		},
	}
	_ = server.Serve(listener)
	seen.readAnswers(conn.out.Bytes())
	return seen
}

// followUp is sent behind each case, and is answered where the connection is still in step.
const followUp = "GET /followUp HTTP/1.1\r\nHost: followUp\r\nConnection: close\r\n\r\n"

// sameCases are answered alike.
func sameCases() map[string]string {
	head := func(line string, fields ...string) string {
		return line + "\r\n" + strings.Join(append([]string{"Host: a"}, fields...), "\r\n") + "\r\n\r\n"
	}
	cases := map[string]string{
		"GET": head("GET / HTTP/1.1"),
		"fields": head("GET /a?b=c HTTP/1.1", "x-a: 1", "X-A:2", "x-B:  3\t", "cookie: a=b; c=d",
			"Accept: é"),
		"HEAD":          head("HEAD /?length HTTP/1.1"),
		"OPTIONS *":     head("OPTIONS * HTTP/1.1"),
		"absolute":      head("GET http://h:8/p?q HTTP/1.1"),
		"encoded":       head("GET /a%20b%2Fc?%zz HTTP/1.1"),
		"double slash":  head("GET //a//b HTTP/1.1"),
		"own method":    head("PURGE /x HTTP/1.1"),
		"CONNECT":       head("CONNECT h:443 HTTP/1.1"),
		"minor version": head("GET / HTTP/1.2", "Connection: keep-alive"),
		"empty host":    "GET / HTTP/1.1\r\nHost:\r\n\r\n",
		"fixed":         head("POST / HTTP/1.1", "Content-Length: 4") + "body",
		"long fixed":    head("POST / HTTP/1.1", "Content-Length: 9000") + strings.Repeat("0123456789", 900),
		"no length":     head("POST / HTTP/1.1"),
		"zero length":   head("POST / HTTP/1.1", "Content-Length: 0"),
		"chunked": head("POST / HTTP/1.1", "Transfer-Encoding: chunked") +
			"4\r\nbody\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
		"chunked, upper case": head("POST / HTTP/1.1", "transfer-encoding: CHUNKED") + "4\r\nbody\r\n000\r\n\r\n",
		"trailers": head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Trailer: X-Sum") +
			"1\r\nx\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n",
		"bad chunk size":            head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + "zz\r\n",
		"huge chunk size":           head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + "11112222333344445\r\n",
		"chunk too long":            head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + "1\r\nxyz\r\n0\r\n\r\n",
		"bare LF behind chunk size": head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + "1\nx\r\n0\r\n\r\n",
		"space in the target":       head("GET /a b HTTP/1.1"),
		"bad host in the target":    head("GET http://h{/ HTTP/1.1"),
		"cut chunk":                 head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + "ffff\r\nxyz",
		"HTTP/1.0":                  "GET / HTTP/1.0\r\n\r\n",
		"HTTP/1.0 kept alive":       "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.0 body":             "POST /?flush HTTP/1.0\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.0 stream":           "GET /?flush HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.0 expects":          "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
		"expects":                   head("POST / HTTP/1.1", "Expect: 100-continue", "Content-Length: 4") + "body",
		"expects in vain":           head("POST /?unread HTTP/1.1", "Expect: 100-continue", "Content-Length: 4") + "body",
		"expects without body":      head("POST / HTTP/1.1", "Expect: 100-continue"),
		"expects something":         head("POST / HTTP/1.1", "Expect: tea"),
		"unread":                    head("POST /?unread HTTP/1.1", "Content-Length: 4") + "body",
		"unread chunks":             head("POST /?unread HTTP/1.1", "Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\n\r\n",
		"unread and long":           head("POST /?unread HTTP/1.1", "Content-Length: 300000") + strings.Repeat("x", 300_000),
		"close":                     head("GET / HTTP/1.1", "Connection: x, close"),
		"close by handler":          head("GET /?close HTTP/1.1"),
		"no version":                "GET /\r\nHost: a\r\n\r\n",
		"HTTP/3.0":                  head("GET / HTTP/3.0"),
		"bad version":               head("GET / HTTQ/1.1"),
		"bad method":                head("G(T / HTTP/1.1"),
		"bad target":                head("GET a HTTP/1.1"),
		"bad encoding":              head("GET /%zz HTTP/1.1"),
		"control character":         head("GET /\x01 HTTP/1.1"),
		"no host":                   "GET / HTTP/1.1\r\n\r\n",
		"two hosts":                 head("GET / HTTP/1.1", "Host: b"),
		"bad host":                  "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
		"space before colon":        head("GET / HTTP/1.1", "X : 1"),
		"bad name":                  head("GET / HTTP/1.1", "X(: 1"),
		"no name":                   head("GET / HTTP/1.1", ": 1"),
		"NUL":                       head("GET / HTTP/1.1", "X: \x00"),
		"bare CR":                   head("GET / HTTP/1.1", "X: a\rY: b"),
		"different lengths":         head("POST / HTTP/1.1", "Content-Length: 4", "Content-Length: 5") + "body",
		"list of lengths":           head("POST / HTTP/1.1", "Content-Length: 4, 4") + "body",
		"signed length":             head("POST / HTTP/1.1", "Content-Length: +4") + "body",
		"announced length": head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Trailer: Content-Length") +
			"0\r\n\r\n",
		"folded first line":     "GET / HTTP/1.1\r\n X: 1\r\nHost: a\r\n\r\n",
		"leading LF":            "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"cut head":              "GET / HTTP/1.1\r\nHost: a",
		"nothing":               "",
		"pragma":                head("GET / HTTP/1.1", "Pragma: no-cache", "Cache-Control: x"),
		"trailer without chunk": head("GET / HTTP/1.1", "Trailer: X"),
	}
	for _, mode := range []string{"flush", "hints", "none", "same", "missing", "trailers", "length"} {
		cases["answer "+mode] = head("GET /?" + mode + " HTTP/1.1")
		cases["HEAD "+mode] = head("HEAD /?" + mode + " HTTP/1.1")
		cases["body "+mode] = head("POST /?"+mode+" HTTP/1.1", "Content-Length: 4") + "body"
	}
	cases["answer large"] = head("GET /?large HTTP/1.1")
	return cases
}
