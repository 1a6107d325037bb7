package client_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// clientDifferences are the responses that net/http takes and this package refuses, by the reason that it gives. Every
// other difference is a failure of a test.
func clientDifferences() map[error]string {
	return map[error]string{
		wire.ErrBareLF:            "RFC 9112 section 2.2: a line that ends otherwise may be two lines to the next reader",
		wire.ErrBareCR:            "RFC 9112 section 2.2: a bare CR makes the element invalid",
		wire.ErrFold:              "RFC 9112 section 5.2: folded lines are obsolete",
		wire.ErrSpaceBeforeColon:  "RFC 9112 section 5.1: proxies remove it, others take another name (CVE-2019-16276)",
		wire.ErrName:              "RFC 9110 section 5.1: names are tokens",
		wire.ErrValue:             "RFC 9110 section 5.5: control characters in values",
		wire.ErrVersion:           "RFC 9112 section 2.3: HTTP/1.2 and the like are spelt with one digit each",
		wire.ErrMajor:             "RFC 9110 section 2.5: another major version has another syntax",
		wire.ErrStatusLine:        "RFC 9112 section 4: three digits, from 100",
		wire.ErrLength:            "RFC 9112 section 6.3: a length is digits, fewer than 19",
		wire.ErrLengths:           "RFC 9112 section 6.3: one length",
		wire.ErrLengthAndEncoding: "RFC 9112 section 6.3: smuggling and splitting of responses",
		wire.ErrEncoding:          "RFC 9112 section 6.1: one coding, chunked",
		wire.ErrEncodingVersion:   "RFC 9112 section 6.1: HTTP/1.0 has no codings, the framing is faulty",
		wire.ErrTooManyFields:     "RFC 6585 section 5: memory is a multiple of the bytes",
		wire.ErrChunkSize:         "RFC 9112 section 7.1: hexadecimal digits, at most 15, nothing around them",
		wire.ErrChunkExtension: "RFC 9112 section 7.1.1: control characters in extensions, or an excess of them " +
			"(CVE-2023-39326)",
		wire.ErrTrailerName:         "RFC 9110 section 6.5.1: framing fields are no trailers",
		wire.ErrTrailerTooLarge:     "RFC 6585 section 5: trailers have bounds of their own",
		client.ErrUnexpectedUpgrade: "RFC 9110 section 7.8: a server must not switch to what was not requested",
		client.ErrInterim:           "RFC 9110 section 15.2: any number of them, but not without end",
	}
}

// leniences are what this package takes and net/http refuses.
var leniences = []struct {
	name string
	so   func(bytes string) bool
}{
	{
		"RFC 9110 section 6.5.1: a forbidden trailer is left out, and no reason to lose the response",
		func(bytes string) bool {
			return strings.Contains(strings.ToLower(bytes), "trailer")
		},
	},
}

// bothClients sends a request with each client to an endpoint that answers with the bytes and then closes, or waits for
// another request. Each may keep the connection.
type bothClients struct {
	endpoint *http1test.Endpoint
	bytes    atomic.Pointer[string]
	closes   atomic.Bool
	ours     *client.Upstream
	theirs   *http.Transport
}

func newBothClients(t testing.TB) *bothClients {
	// net/http logs surplus.
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	b := &bothClients{}
	b.endpoint = http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		for conn.Head() != "" {
			conn.Say(*b.bytes.Load())
			if b.closes.Load() {
				_ = conn.Conn.(*net.TCPConn).CloseWrite()
			}
		}
	})
	b.ours = testUpstream(t, b.endpoint.Address(), func(config *client.Config) { config.MaxHeaderBytes = 64 << 10 })
	b.theirs = &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: 64 << 10}
	t.Cleanup(b.theirs.CloseIdleConnections)
	return b
}

// compare returns how the clients differ, if they do and no difference has a name.
func (b *bothClients) compare(t testing.TB, method, bytes string, closes bool) string {
	b.bytes.Store(&bytes)
	b.closes.Store(closes)
	r := testRequest(t, method, b.endpoint.Address(), nil)
	response, err := b.ours.RoundTrip(r)
	ours := take(response, err)
	bodyErr := error(nil)
	if response != nil {
		_, bodyErr = response.Body.Read(make([]byte, 1))
	}
	ourReuse := b.ours.Idle() > 0
	b.ours.CloseIdleConnections()
	theirReuse := false
	kept := make(chan error, 1)
	trace := &httptrace.ClientTrace{PutIdleConn: func(err error) { kept <- err }}
	r = testRequest(t, method, b.endpoint.Address(), nil)
	theirs := take(b.theirs.RoundTrip(r.WithContext(httptrace.WithClientTrace(context.Background(), trace))))
	select {
	case err := <-kept:
		theirReuse = err == nil
	default:
	}
	b.theirs.CloseIdleConnections()
	if ours.Failed && !theirs.Failed {
		for reason := range clientDifferences() {
			if errors.Is(err, reason) || errors.Is(bodyErr, reason) {
				return ""
			}
		}
	}
	if theirs.Failed && !ours.Failed {
		for _, lenience := range leniences {
			if lenience.so(bytes) {
				return ""
			}
		}
	}
	if ours.Failed && theirs.Failed {
		return ""
	}
	normalise(&ours)
	normalise(&theirs)
	diff := cmp.Diff(theirs, ours, cmpopts.EquateEmpty())
	if diff == "" && !closes && ourReuse && !theirReuse {
		diff = "only we keep the connection"
	}
	if diff != "" && err != nil {
		diff += "our error: " + err.Error()
	}
	return diff
}

// normalise takes out what has no meaning in a response, and trailers that must not be. Connection stays here, since it
// lists the fields that end at this hop (RFC 9110 section 7.6.1); net/http drops it where it is close.
func normalise(o *outcomeOf) {
	delete(o.Header, "Connection")
	delete(o.Header, "Host")
	for name := range o.Trailer {
		if wire.ForbiddenTrailer(name) || o.Trailer[name] == nil {
			delete(o.Trailer, name)
		}
	}
}

// responseCorpus are heads and bodies to begin with.
func responseCorpus() []string {
	heads := []string{
		"HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 204 No Content\r\n", "HTTP/1.1 304 \r\n", "HTTP/1.1 200\r\n",
		"HTTP/1.1 099 x\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n", "HTTP/2.0 200 OK\r\n", "http/1.1 200 OK\r\n", "HTTP/1.1 2000 OK\r\n",
		"HTTP/1.1  200 OK\r\n",
	}
	bodies := []string{
		"\r\nhello", "Content-Length: 5\r\n\r\nhello", "Content-Length: 5\r\n\r\nhello, world",
		"Content-Length: 5\r\n\r\nhel",
		"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "Content-Length: 5, 5\r\n\r\nhello",
		"Content-Length: +5\r\n\r\nhello", "Content-Length: 0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
		"Trailer: A, B\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n",
		"Trailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding: gzip\r\n\r\nx",
		"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"Connection: close\r\nContent-Length: 2\r\n\r\nok", "Connection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
		"A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
		"A : b\r\nContent-Length: 0\r\n\r\n", "A: \x01\r\n\r\n", "\x00: b\r\n\r\n", ": b\r\n\r\n",
		"A: b\nContent-Length: 0\r\n\r\n", "A: b\rC: d\r\n\r\n", "A\r\n\r\n",
	}
	var all []string
	for _, head := range heads {
		for _, body := range bodies {
			all = append(all, head+body)
		}
	}
	return append(all, "", "\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n\r\n", "garbage\r\n\r\n")
}

// TestClientIsAsNetHTTP compares responses after which the endpoint closes, and those that end by themselves also when
// it does not.
func TestClientIsAsNetHTTP(t *testing.T) {
	both := newBothClients(t)
	for _, bytes := range responseCorpus() {
		for _, method := range []string{"GET", "HEAD"} {
			if diff := both.compare(t, method, bytes, true); diff != "" {
				t.Errorf("%s %q: %s", method, bytes, diff)
			}
			if endsItself(bytes) {
				if diff := both.compare(t, method, bytes, false); diff != "" {
					t.Errorf("%s %q, open: %s", method, bytes, diff)
				}
			}
		}
	}
}

// endsItself reports whether a response of the corpus has an end without the end of the connection.
func endsItself(bytes string) bool {
	return strings.HasPrefix(bytes, "HTTP/1.1 200 OK\r\n") &&
		(strings.HasSuffix(bytes, "Content-Length: 5\r\n\r\nhello") ||
			strings.HasSuffix(bytes, "\r\n0\r\n\r\n") || strings.HasSuffix(bytes, "\r\nok"))
}

// FuzzClientIsAsNetHTTP looks for bytes that the clients read in different ways.
func FuzzClientIsAsNetHTTP(f *testing.F) {
	for _, bytes := range responseCorpus() {
		f.Add(bytes, false)
	}
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true)
	both := newBothClients(f)
	f.Fuzz(func(t *testing.T, bytes string, head bool) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		if len(bytes) > 32<<10 {
			return // More than the sockets hold would measure them, not the clients.
		}
		if diff := both.compare(t, method, bytes, true); diff != "" {
			t.Error(diff)
		}
	})
}
