package entrypoint_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestProtocols(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				telemetry.RecordFrom(r.Context()).Router = "r@file"
				w.Header().Set("Trailer", "Declared")
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusAccepted)
				_, _ = fmt.Fprintf(w, "%s %v %v %s %s", r.Proto, r.TLS != nil, certificate.ConnectionFrom(r.Context()) != nil, body,
					r.Trailer)
				w.Header().Set("Declared", "1")
				w.Header().Set(http.TrailerPrefix+"Sudden", "2")
			}), nil)
			client, url := s.client(protocol)
			secure := strings.HasPrefix(url, "https")
			response, body := do(t, client, http.MethodPost, url+"/a%2Fb/../c?q", strings.NewReader("body"))
			proto := map[byte]string{'1': "HTTP/1.1", '2': "HTTP/2.0", '3': "HTTP/3.0"}[protocol[1]]
			if want := fmt.Sprintf("%s %v %v body map[]", proto, secure, secure); body != want {
				t.Errorf("body %q, want %q", body, want)
			}
			if response.StatusCode != http.StatusAccepted {
				t.Errorf("status %d", response.StatusCode)
			}
			if _, guessed := response.Header["Content-Type"]; guessed {
				t.Error("a content type was guessed")
			}
			if response.Trailer.Get("Declared") != "1" || response.Trailer.Get("Sudden") != "2" {
				t.Errorf("trailers %v", response.Trailer)
			}
			record := s.record()
			if record.Start.IsZero() || record.Duration <= 0 {
				t.Errorf("times %v %v", record.Start, record.Duration)
			}
			record.Start, record.Duration = record.Start.Truncate(0), 0
			if record.ClientPort == "" || (record.TLS != nil) != strings.HasPrefix(url, "https:") ||
				record.RequestHeader.Get("Content-Length") != "4" {
				t.Errorf("record %+v", record)
			}
			record.ClientPort, record.TLS, record.RequestHeader = "", nil, nil
			want := telemetry.Record{
				Start: record.Start, Method: "POST", Host: s.address, Path: "/c", Client: "127.0.0.1",
				Protocol: "http", Entrypoint: "web", Router: "r@file", Status: 202, BytesSent: int64(len(body)),
				BytesReceived: 4, Query: "q", Version: proto, RequestID: "began /c",
			}
			if !reflect.DeepEqual(record, want) {
				t.Errorf("record %+v, want %+v", record, want)
			}
		})
	}
}

func TestTrailersOfRequests(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = fmt.Fprint(w, r.Trailer)
			}), nil)
			client, url := s.client(protocol)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.NopCloser(strings.NewReader("x")))
			if err != nil {
				t.Fatal(err)
			}
			request.Trailer = http.Header{"Checksum": {"1"}, "X-Forwarded-For": {"192.0.2.1"}}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, _ := io.ReadAll(response.Body)
			if string(body) != "map[Checksum:[1]]" {
				t.Errorf("trailers %s", body)
			}
		})
	}
}

func TestUnannouncedTrailersReachAHandlerBehindACopyOfTheRequest(t *testing.T) {
	type key struct{}
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), key{}, true))
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, r.Trailer)
	}), nil)
	got := s.raw("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" +
		"1\r\nx\r\n0\r\nChecksum: 1\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
	if !strings.Contains(got, "map[Checksum:[1]]") {
		t.Errorf("got %q", got)
	}
}

func TestSpeaksBothOnOneAddress(t *testing.T) {
	s := start(t, http.HandlerFunc(hello), nil)
	for _, protocol := range protocols() {
		client, url := s.client(protocol)
		if _, body := do(t, client, http.MethodGet, url, nil); body != "hello" {
			t.Errorf("%s: %q", protocol, body)
		}
	}
}

func TestOptionsForTheWholeServer(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	}), nil)
	if got := s.raw("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); !strings.HasSuffix(got, "\r\n\r\n*") {
		t.Errorf("got %q", got)
	}
}

func TestHeadCountsNothing(t *testing.T) {
	s := start(t, http.HandlerFunc(hello), nil)
	client, url := s.client("h1")
	do(t, client, http.MethodHead, url, nil)
	if record := s.record(); record.BytesSent != 0 || record.Status != 200 {
		t.Errorf("record %+v", record)
	}
}

// TestFirstBytesInPieces sends what may be the preface of HTTP/2 byte by byte.
func TestFirstBytesInPieces(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method)
	}), nil)
	for _, test := range []struct{ sent, want string }{
		{"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "\r\n\r\nPOST"},
		{"PRI / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "\r\n\r\nPRI"},
		{"PRI * HTTP/2.1\r\n\r\n", "(RFC 9110, section 15.6.6)\n"},
	} {
		conn := s.dial()
		for i := range test.sent {
			say(t, conn, test.sent[i:i+1])
		}
		got, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(got), "HTTP/1.1 ") || !strings.HasSuffix(string(got), test.want) {
			t.Errorf("%q: got %q", test.sent, got)
		}
	}
}

// TestRefusedAreRecorded sends heads that never reach a handler.
func TestRefusedAreRecorded(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.HTTP.MaxHeaderCount, c.HTTP.MaxHeaderBytes = 2, 1000
	})
	for _, test := range []struct {
		sent, reason string
		status       int
	}{
		{"GET / HTTP/1.1\r\n\r\n", "missing Host (RFC 9112, section 3.2)", 400},
		{"GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 1\r\n\r\n", "more header fields than http.maxHeaderCount", 431},
		{
			"GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("x", 1000) + "\r\n\r\n",
			"a larger header than http.maxHeaderBytes", 431,
		},
	} {
		if got := s.raw(test.sent); !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", test.status)) {
			t.Errorf("got %q", got)
		}
		record := s.record()
		record.Start = time.Time{}
		if want := (telemetry.Record{
			Entrypoint: "web", Client: "127.0.0.1", Protocol: "http", Status: test.status, Reason: test.reason,
			Code: telemetry.CodeFor(test.status), Version: "HTTP/1.1",
		}); !reflect.DeepEqual(record, want) {
			t.Errorf("record %+v, want %+v", record, want)
		}
	}
}
