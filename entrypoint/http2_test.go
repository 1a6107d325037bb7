package entrypoint_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/static"
)

func TestHTTP2Options(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.HTTP2 = static.HTTP2{MaxConcurrentStreams: 17, MaxDecoderHeaderTableSize: 8192, MaxEncoderHeaderTableSize: 4096}
	})
	conn := s.dial()
	say(t, conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	for id, want := range map[http2.SettingID]uint32{
		http2.SettingMaxConcurrentStreams: 17, http2.SettingHeaderTableSize: 8192,
	} {
		if got, ok := settings.Value(id); !ok || got != want {
			t.Errorf("%v is %d, want %d", id, got, want)
		}
	}
}

// TestPathOfAnotherHost sends the absolute form of HTTP/1.1 for a path.
func TestPathOfAnotherHost(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Host, " ", r.URL)
	}), nil)
	for _, test := range []struct{ method, path, want string }{
		{"GET", "//evil.example/case", "200 a.example /evil.example/case"},
		{"OPTIONS", "*", "200 a.example *"},
		{"GET", "*", "400 Bad Request\n"},
		{"GET", "http://evil.example/case", "400 Bad Request\n"},
		{"GET", "https://evil.example/case", "400 Bad Request\n"},
		{"OPTIONS", "http://evil.example", "400 Bad Request\n"},
		{"GET", "http:case", "400 Bad Request\n"},
	} {
		framer := s.framer()
		open(t, framer, 1, true, ":method", test.method, ":scheme", "http", ":authority", "a.example", ":path", test.path)
		if got := streamed(t, framer); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.method, test.path, got, test.want)
		}
	}
}

// TestPseudoHeaders sends what net/http refuses in HTTP/1.1 and takes in HTTP/2: a second host, bytes that the way to
// an endpoint would turn into another host, and a method that is none.
func TestPseudoHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Host, r.Header["Host"])
	}), nil)
	for _, test := range []struct{ method, authority, host, want string }{
		{"GET", "a.example", "b.example", "reset"},
		{"GET", "", "b.example", "200 b.example[]"},
		{"GET", "\uff41.example", "", "400 Bad Request\n"},
		{"GET", "a\u00e4.example", "", "400 Bad Request\n"},
		{"GET", "a b", "", "400 Bad Request\n"},
		{"GET", "", "", "400 Bad Request\n"},
		{"GET", "a.example:", "", "200 a.example:[]"},
		{"GET", "[2001:db8::1]:80", "", "200 [2001:db8::1]:80[]"},
		{"GET", "a.example:http", "", "400 Bad Request\n"},
		{"GET", "a.example:80:80", "", "400 Bad Request\n"},
		{"GET", "a.example:99999", "", "400 Bad Request\n"},
		{"GET", ":80", "", "400 Bad Request\n"},
		{"GET", "[2001:db8::1", "", "400 Bad Request\n"},
		{"GET", "[::1%25eth0]", "", "400 Bad Request\n"},
		{"GET", "a%zz", "", "400 Bad Request\n"},
		{"GET", "", "b.example:http", "400 Bad Request\n"},
		{"G T", "a", "", "400 Bad Request\n"},
		{"GET /b HTTP/1.1", "a", "", "400 Bad Request\n"},
	} {
		framer := s.framer()
		sendHeaders(t, framer, 1, test.method, test.authority, test.host)
		if got := streamed(t, framer); got != test.want {
			t.Errorf("%q, %q, %q: got %q, want %q", test.method, test.authority, test.host, got, test.want)
		}
	}
	if got := s.raw("GET http://a%C3%A4/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got,
		"HTTP/1.1 400") {
		t.Errorf("in absolute form: got %q", got)
	}
}

// framer opens a connection in HTTP/2 with prior knowledge.
func (s *served) framer() *http2.Framer {
	s.t.Helper()
	conn := s.dial()
	say(s.t, conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(); err != nil {
		s.t.Fatal(err)
	}
	return framer
}

// sendHeaders sends a request for an authority and a host, each of which may be empty.
func sendHeaders(t *testing.T, framer *http2.Framer, stream uint32, method, authority, host string) {
	t.Helper()
	fields := []string{":method", method, ":scheme", "http", ":path", "/"}
	if authority != "" {
		fields = append(fields, ":authority", authority)
	}
	if host != "" {
		fields = append(fields, "host", host)
	}
	open(t, framer, stream, true, fields...)
}

// open begins a stream with fields, names and values in turn, and ends it when they are all.
func open(t *testing.T, framer *http2.Framer, stream uint32, all bool, fields ...string) {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	err := framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true,
		EndStream: all,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInformationalResponsesToClientsThatLeft resets streams while informational responses are written. The race
// detector sees a server that reads the header after WriteHeader has returned, when the next response changes it.
func TestInformationalResponsesToClientsThatLeft(t *testing.T) {
	t.Parallel()
	const streams = 300
	left := make(chan struct{}, streams)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- struct{}{} }()
		for i := 0; i < 300 && r.Context().Err() == nil; i++ {
			w.Header().Set("Link", strings.Repeat("x", i%100))
			w.WriteHeader(http.StatusEarlyHints)
		}
		<-r.Context().Done()
		w.WriteHeader(http.StatusOK)
	}), nil)
	framer := s.framer()
	for i := range uint32(streams) {
		stream := 2*i + 1
		sendHeaders(t, framer, stream, "GET", "a", "")
		for begun := false; !begun; {
			frame, err := framer.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			headers, ok := frame.(*http2.MetaHeadersFrame)
			begun = ok && headers.StreamID == stream
		}
		if err := framer.WriteRSTStream(stream, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
		receive(t, left, "the end of a handler")
	}
}

// streamed reads the status and the body of the first response, or its end without one.
func streamed(t *testing.T, framer *http2.Framer) string {
	t.Helper()
	got := ""
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			got = frame.PseudoValue("status") + " "
			if frame.StreamEnded() {
				return got
			}
		case *http2.RSTStreamFrame:
			return "reset"
		case *http2.DataFrame:
			got += string(frame.Data())
			if frame.StreamEnded() {
				return got
			}
		}
	}
}

// TestMisdirectedClosesTheConnection answers as a router does whose TLS options are others than those of the
// connection: the client comes back on a new connection, and streams that run finish.
func TestMisdirectedClosesTheConnection(t *testing.T) {
	for _, protocol := range []string{"h2", "h2c"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/stream":
					_ = http.NewResponseController(w).Flush()
					<-release
					_, _ = io.WriteString(w, "whole")
				case "/misdirected":
					w.Header().Set("Connection", "close")
					http.Error(w, "misdirected", http.StatusMisdirectedRequest)
				default:
					_, _ = io.WriteString(w, r.RemoteAddr)
				}
			}), nil)
			client, url := s.client(protocol)
			_, before := do(t, client, http.MethodGet, url, nil)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Body.Close() }()
			if response, _ := do(t, client, http.MethodGet, url+"/misdirected",
				nil); response.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("status %d", response.StatusCode)
			}
			after := before
			s.eventually("a new connection", func() bool {
				_, after = do(t, client, http.MethodGet, url, nil)
				return after != before
			})
			close(release)
			body, err := bufio.NewReader(stream.Body).ReadString('e')
			if got := fmt.Sprint(body, err); got != "whole<nil>" {
				t.Errorf("the running stream got %s", got)
			}
		})
	}
}
