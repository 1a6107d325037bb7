package entrypoint_test

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/static"
)

// posts begins a request that declares lengths, on the first stream of a new connection.
func (s *served) posts(all bool, lengths ...string) *http2.Framer {
	s.t.Helper()
	fields := []string{":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a"}
	for _, length := range lengths {
		fields = append(fields, "content-length", length)
	}
	framer := s.framer()
	open(s.t, framer, 1, all, fields...)
	return framer
}

// TestLengthsInHTTP2 declares lengths of which net/http makes 0, and lengths that a body does not have.
func TestLengthsInHTTP2(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 100)
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seen <- fmt.Sprint(r.ContentLength, " ", r.Body == http.NoBody, " ", string(body), " ", err)
	}), nil)
	const refused = "400 Bad Request\n" // Or the server resets the stream, for data that it does not expect.
	for _, test := range []struct {
		lengths []string
		body    string
		// answer and handler are what the client gets and the handler sees.
		answer, handler string
	}{
		{nil, "", "200 ", "0 true  <nil>"},
		{nil, "hello", "200 ", "-1 false hello <nil>"},
		{[]string{"0"}, "", "200 ", "0 true  <nil>"},
		{[]string{"00"}, "", "200 ", "0 true  <nil>"},
		{[]string{"5"}, "hello", "200 ", "5 false hello <nil>"},
		{[]string{"5"}, "", refused, ""},
		{[]string{"5", "5"}, "hello", refused, ""},
		{[]string{"5", "0"}, "hello", refused, ""},
		{[]string{"0", "5"}, "", refused, ""},
		{[]string{"5, 0"}, "hello", refused, ""},
		{[]string{"5, 5"}, "hello", refused, ""},
		{[]string{"+5"}, "hello", refused, ""},
		{[]string{"-5"}, "hello", refused, ""},
		{[]string{"-0"}, "", refused, ""},
		{[]string{"0x5"}, "hello", refused, ""},
		{[]string{"5.0"}, "hello", refused, ""},
		{[]string{""}, "hello", refused, ""},
		{[]string{""}, "", refused, ""},
		{[]string{"18446744073709551621"}, "hello", refused, ""},
		{[]string{"\u0665"}, "hello", refused, ""},
	} {
		framer := s.posts(test.body == "", test.lengths...)
		if test.body != "" {
			if err := framer.WriteData(1, true, []byte(test.body)); err != nil {
				t.Fatal(err)
			}
		}
		if got := streamed(t, framer); got != test.answer && (got != "reset" || test.answer != refused || test.body == "") {
			t.Errorf("%q, %q: the client got %q, want %q", test.lengths, test.body, got, test.answer)
		}
		got := ""
		if len(seen) > 0 {
			got = <-seen
		}
		if got != test.handler {
			t.Errorf("%q, %q: the handler saw %q, want %q", test.lengths, test.body, got, test.handler)
		}
	}
}

// post begins a request that declares a length of 0, and further fields, on a connection of HTTP/2 in memory.
func (v *visited) post(fields ...string) *http2.Framer {
	v.t.Helper()
	conn := v.connect("192.0.2.1")
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	say(v.t, conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, nil)
	if err := framer.WriteSettings(); err != nil {
		v.t.Fatal(err)
	}
	open(v.t, framer, 1, false, append([]string{
		":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a", "content-length", "0",
	}, fields...)...)
	return framer
}

// shortRead sets a readTimeout.
func shortRead(c *static.EntryPoint) {
	c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(500 * time.Millisecond)
}

// TestEmptyBodyThatGoesOn declares a length of 0, and leaves the stream open.
func TestEmptyBodyThatGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		then    func(*http2.Framer) error
		handler bool
	}{
		"ends":       {func(f *http2.Framer) error { return f.WriteData(1, true, nil) }, true},
		"has data":   {func(f *http2.Framer) error { return f.WriteData(1, true, []byte("hello")) }, false},
		"is reset":   {func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) }, false},
		"stays open": {func(*http2.Framer) error { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var reached, empty atomic.Bool
			visitHandler(t, func(_ http.ResponseWriter, r *http.Request, _ chan<- error) {
				reached.Store(true)
				empty.Store(r.Body == http.NoBody)
			}, shortRead, func(t *testing.T, v *visited) {
				if err := test.then(v.post()); err != nil {
					t.Fatal(err)
				}
				record := v.record()
				if reached.Load() != test.handler || empty.Load() != test.handler {
					t.Errorf("the handler was reached: %v, without a body: %v", reached.Load(), empty.Load())
				}
				if (record.Status == http.StatusOK) != test.handler || (record.Reason == "") != test.handler {
					t.Errorf("record %+v", record)
				}
			})
		})
	}
}

// TestEmptyBodyOfGRPC declares a length of 0 with the media type of gRPC, whose bodies may be silent, and leaves the
// stream open.
func TestEmptyBodyOfGRPC(t *testing.T) {
	visitHandler(t, func(http.ResponseWriter, *http.Request, chan<- error) {
		t.Error("the handler was reached")
	}, shortRead, func(t *testing.T, v *visited) {
		v.post("content-type", "application/grpc")
		if record := v.record(); record.Status != http.StatusBadRequest {
			t.Errorf("record %+v", record)
		}
	})
}
