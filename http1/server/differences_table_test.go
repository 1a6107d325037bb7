package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/http1/wire"
)

func TestSameAsNetHTTP(t *testing.T) {
	t.Parallel()
	for name, sent := range sameCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := serveOurs([]byte(sent+followUp)), serveTheirs([]byte(sent+followUp))
			if diff := cmp.Diff(theirs.requests, ours.requests); diff != "" {
				t.Errorf("the handler saw other requests (-net/http +http1): %s", diff)
			}
			if diff := cmp.Diff(theirs.answers, ours.answers); diff != "" {
				t.Errorf("other answers (-net/http +http1): %s\n%q", diff, ours.raw)
			}
		})
	}
}

// difference is an input that http1 answers in another way than net/http, on purpose.
type difference struct {
	name, sent string
	// ours and theirs list what the client got, and how many requests the handler saw.
	ours, theirs string
	// reason is why http1 refuses; nil where it does not.
	reason error
	// why names the rule.
	why string
}

// differences are all differences between http1 and net/http's server that a test has found.
func differences() []difference {
	head := func(line string, fields ...string) string {
		return line + "\r\n" + strings.Join(append([]string{"Host: a"}, fields...), "\r\n") + "\r\n\r\n"
	}
	chunked := head("POST / HTTP/1.1", "Transfer-Encoding: chunked")
	return []difference{
		{
			"bare LF", "GET / HTTP/1.1\nHost: a\n\n", "400, 0 seen", "200 200, 2 seen", wire.ErrBareLF,
			"RFC 9112, section 2.2: may be recognised, and smuggles where others do not",
		},
		{
			"bare LF behind a field", head("GET / HTTP/1.1", "X: 1\nY: 2"), "400, 0 seen", "200 200, 2 seen", wire.ErrBareLF,
			"RFC 9112, section 2.2",
		},
		{
			"folded line", head("GET / HTTP/1.1", "X: 1", " 2"), "400, 0 seen", "200 200, 2 seen", wire.ErrFold,
			"RFC 9112, section 5.2: a server must reject it or replace it",
		},
		{
			"repeated length", head("POST / HTTP/1.1", "Content-Length: 4", "Content-Length: 4") + "body", "400, 0 seen",
			"200 200, 2 seen", wire.ErrLengths, "RFC 9112, section 6.3: may be rejected",
		},
		{
			"overlong length", head("POST / HTTP/1.1", "Content-Length: 0000000000000000004") + "body", "400, 0 seen",
			"200 200, 2 seen", wire.ErrLength, "RFC 9110, section 8.6: anticipate overflow",
		},
		{
			"length and encoding", head("POST / HTTP/1.1", "Content-Length: 4", "Transfer-Encoding: chunked") + "0\r\n\r\n",
			"400, 0 seen", "200 200, 2 seen", wire.ErrLengthAndEncoding,
			"RFC 9112, section 6.3: ought to be handled as an error",
		},
		{
			"unknown encoding", head("POST / HTTP/1.1", "Transfer-Encoding: gzip, chunked"), "400, 0 seen", "501, 0 seen",
			wire.ErrEncoding, "RFC 9112, section 6.1: the end of the body is unknown, whatever the coding is called",
		},
		{
			"encoding twice", head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "400, 0 seen",
			"501, 0 seen", wire.ErrEncoding, "RFC 9112, section 6.1: chunked must not be applied twice",
		},
		{
			"encoding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400, 0 seen",
			"200, 1 seen", wire.ErrEncodingVersion, "RFC 9112, section 6.1: must be treated as faulty",
		},
		{
			"fragment", head("GET /a#b HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrTarget,
			"RFC 9112, section 3.2: a target has no fragment",
		},
		{
			"no target", head("CONNECT  HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrRequestLine,
			"RFC 9112, section 3.2.3: an authority is not empty",
		},
		{
			"CONNECT without Host", "CONNECT h:443 HTTP/1.1\r\n\r\n", "400, 0 seen", "200 200, 2 seen", wire.ErrNoHost,
			"RFC 9112, section 3.2: any request lacks it",
		},
		{
			"opaque target", head("GET http:a HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrTarget,
			"RFC 9110, section 4.2.1: http has an authority",
		},
		{
			"no host in the target", head("GET http:///a HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrTarget,
			"RFC 9110, section 4.2.1: an empty host must be rejected",
		},
		{
			"userinfo in the target", head("GET http://u@h/ HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrUserinfo,
			"RFC 9110, section 4.2.4: likely an attack",
		},
		{
			"port alone in the target", head("GET http://:80/ HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrHost,
			"RFC 9110, section 4.2.1: an empty host must be rejected",
		},
		{
			"zone in the target", head("GET http://[::1%25eth0]/ HTTP/1.1"), "400, 0 seen", "200 200, 2 seen", wire.ErrHost,
			"RFC 3986, section 3.2.2: an address in brackets has no zone",
		},
		{
			"port that is a name", "GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", "400, 0 seen", "200 200, 2 seen", wire.ErrHost,
			"RFC 9112, section 3.2: an invalid Host must be answered with 400",
		},
		{
			"bare LF in trailers", chunked + "0\r\nX: 1\n\r\n", "200, 1 seen", "200 200, 2 seen", wire.ErrBareLF,
			"RFC 9112, section 2.2, CVE-2025-22871",
		},
		{
			"space behind a chunk size", chunked + "1 \r\nx\r\n0\r\n\r\n", "200, 1 seen", "200 200, 2 seen", wire.ErrChunkSize,
			"RFC 9112, section 7.1.1: white space only before an extension",
		},
		{
			"chunk size of 16 digits", chunked + "0000000000000001\r\nx\r\n0\r\n\r\n", "200, 1 seen", "200 200, 2 seen",
			wire.ErrChunkSize, "RFC 9112, section 7.1: anticipate overflow",
		},
		{
			"control character in an extension", chunked + "1;a\x01b\r\nx\r\n0\r\n\r\n", "200, 1 seen", "200 200, 2 seen",
			wire.ErrChunkExtension, "RFC 9112, section 7.1.1",
		},
		{
			"trailer name with a space", chunked + "0\r\nC D: 1\r\n\r\n", "200, 1 seen", "200 200, 2 seen", wire.ErrName,
			"RFC 9110, section 5.1, CVE-2019-16276",
		},
		{
			"folded trailer", chunked + "0\r\nX: 1\r\n 2\r\n\r\n", "200, 1 seen", "200 200, 2 seen", wire.ErrFold,
			"RFC 9112, section 5.2",
		},
		{
			"trailer that frames", chunked + "0\r\nContent-Length: 7\r\n\r\n", "200 200, 2 seen", "200 200, 2 seen", nil,
			"RFC 9110, section 6.5.1: left out",
		},
		{
			"empty lines first", "\r\n\r\n" + head("GET / HTTP/1.1"), "200 200, 2 seen", "400, 0 seen", nil,
			"RFC 9112, section 2.2: should be ignored",
		},
		{
			"Pragma", head("GET / HTTP/1.1", "Pragma: no-cache"), "200 200, 2 seen", "200 200, 2 seen", nil,
			"RFC 9111, section 5.4: net/http adds Cache-Control, http1 passes on what was sent",
		},
		{
			"close within an option", head("GET / HTTP/1.1", "Connection: not close"), "200 200, 2 seen", "200, 1 seen", nil,
			"RFC 9110, section 7.6.1: options are tokens, and this is none",
		},
		{
			"two expectations", head("GET / HTTP/1.1", "Expect: 100-continue", "Expect: tea"), "417, 0 seen", "200 200, 2 seen",
			server.ErrExpectation, "RFC 9110, section 10.1.1",
		},
		{
			"long line", head("GET /" + strings.Repeat("a", 1<<20+8192) + " HTTP/1.1"), "414, 0 seen", "431, 0 seen",
			wire.ErrLineTooLong, "RFC 9112, section 3",
		},
		{
			"hints for HTTP/1.0", "GET /?hints HTTP/1.0\r\n\r\n", "200, 1 seen", "103 200, 1 seen", nil,
			"RFC 9110, section 15.2: must not be sent",
		},
		{
			"HEAD of a large body", head("HEAD /?large HTTP/1.1"), "200 200, 2 seen", "200 200, 2 seen", nil,
			"RFC 9110, section 8.6: Content-Length is known, and sent",
		},
		{
			"answer shorter than declared", head("GET /?short HTTP/1.1"), "200, 1 seen", "200, 1 seen", nil,
			"RFC 9112, section 9.6: the close is announced",
		},
		{
			"a few bytes behind a request", head("GET / HTTP/1.1", "Connection: keep-alive") + "\x00", "200 400, 1 seen",
			"200, 1 seen", nil, "RFC 9112, section 8: an incomplete request may be answered",
		},
		{
			"cut body that is not read", head("POST /?unread HTTP/1.1", "Content-Length: 4000") + "body", "200, 1 seen",
			"200, 1 seen", nil, "RFC 9112, section 9.6: the answer does not wait for the rest of the body",
		},
		{
			"cut body", head("POST / HTTP/1.1", "Content-Length: 4000") + "body", "200, 1 seen", "200, 1 seen", nil,
			"RFC 9112, section 9.6: the close is announced",
		},
	}
}

// behind returns the bytes to send, with another request behind them unless the row is about the end.
func (d difference) behind() string {
	if strings.HasSuffix(d.sent, "\x00") {
		return d.sent
	}
	return d.sent + followUp
}

// summary returns what a client got and how many requests the handler saw.
func (o *observed) summary() string {
	var statuses []string
	for _, answer := range o.answers {
		status, _, _ := strings.Cut(strings.TrimPrefix(answer, "refused "), " ")
		statuses = append(statuses, status)
	}
	return fmt.Sprintf("%s, %d seen", strings.Join(statuses, " "), len(o.requests))
}

func TestDifferencesFromNetHTTP(t *testing.T) {
	t.Parallel()
	for _, d := range differences() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := serveOurs([]byte(d.behind())), serveTheirs([]byte(d.behind()))
			if ours.summary() != d.ours || theirs.summary() != d.theirs {
				t.Errorf("http1: %s, want %s; net/http: %s, want %s", ours.summary(), d.ours, theirs.summary(), d.theirs)
			}
			if d.reason != nil && (len(ours.reasons) != 1 || !errors.Is(ours.reasons[0], d.reason)) {
				t.Errorf("reasons %v, want %v", ours.reasons, d.reason)
			}
			if slices.Equal(ours.requests, theirs.requests) && slices.Equal(ours.answers, theirs.answers) {
				t.Errorf("there is no difference: %q", ours.answers)
			}
			if !strings.Contains(d.why, "RFC") {
				t.Errorf("no source: %s", d.why)
			}
		})
	}
}
