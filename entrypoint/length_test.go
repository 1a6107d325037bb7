package entrypoint_test

import (
	"fmt"
	"io"
	"net/http"
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

// TestEmptyBodyThatGoesOn declares a length of 0, and leaves the stream open.
func TestEmptyBodyThatGoesOn(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
			seen := make(chan bool, 1)
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				seen <- r.Body == http.NoBody
			}), func(c *static.EntryPoint) {
				c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(500 * time.Millisecond)
			})
			framer := s.posts(false, "0")
			if err := test.then(framer); err != nil {
				t.Fatal(err)
			}
			record := s.record()
			if reached := len(seen) > 0; reached != test.handler || reached && !<-seen {
				t.Errorf("the handler was reached: %v", reached)
			}
			if (record.Status == http.StatusOK) != test.handler || (record.Reason == "") != test.handler {
				t.Errorf("record %+v", record)
			}
		})
	}
}

// TestEmptyBodyOfGRPC declares a length of 0 with the media type of gRPC, whose bodies may be silent, and leaves the
// stream open.
func TestEmptyBodyOfGRPC(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was reached") })
	s := start(t, handler, func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(500 * time.Millisecond)
	})
	open(t, s.framer(), 1, false, ":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a",
		"content-type", "application/grpc", "content-length", "0")
	if record := s.record(); record.Status != http.StatusBadRequest {
		t.Errorf("record %+v", record)
	}
}
