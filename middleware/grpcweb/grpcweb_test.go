package grpcweb

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func build(t testing.TB, origins ...string) *GRPCWeb {
	t.Helper()
	web, err := New("web@file", dynamic.GrpcWeb{AllowOrigins: origins})
	if err != nil {
		t.Fatal(err)
	}
	return web
}

func TestReadme(t *testing.T) {
	web, err := New("web@file", *middlewaretest.Examples(t, "README.md")["web"].GrpcWeb)
	if err != nil {
		t.Fatal(err)
	}
	for origin, allowed := range map[string]bool{
		"https://app.example.com": true, "http://localhost:8080": true, "http://app.example.com": false,
		"https://app.example.com:8443": false,
		"https://example.com":          false, "https://evil.example/https://app.example.com": false, "null": false,
		"": false,
	} {
		if got := web.origins.of(http.Header{"Origin": {origin}}); (got != "") != allowed {
			t.Errorf("%q is allowed as %q", origin, got)
		}
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	for _, origin := range []string{
		"", "example.com", "https://", "https://a.example/", "https://a.example/x", "https://*.example.com",
		"https://a@b.example", "https://a b",
		"https://a.example,https://b.example", "http:/a.example", "https://a.example:port", "https://a.example?x",
		"https://a.example#", "%zz", "**",
	} {
		web, err := New("web@file", dynamic.GrpcWeb{AllowOrigins: []string{"*", origin}})
		if err == nil || err.Error() != "grpcWeb.allowOrigins: \""+origin+
			"\" is no origin such as https://example.com, and neither null nor *" || web != nil {
			t.Errorf("%q: %v", origin, err)
		}
	}
	for _, origin := range []string{
		"*", "null", "https://A.example", "http://127.0.0.1:80", "http://[::1]:80",
		"chrome-extension://abcdef",
	} {
		build(t, origin)
	}
}

func TestKinds(t *testing.T) {
	for contentType, want := range map[string]kind{
		"application/grpc-web":                        {},
		"application/grpc-web+proto":                  {rest: "+proto"},
		"Application/gRPC-Web+json; charset=utf-8":    {rest: "+json; charset=utf-8"},
		"application/grpc-web-text":                   {text: true},
		"application/grpc-web-text+proto":             {text: true, rest: "+proto"},
		"application/grpc-web-text-base64;charset=us": {text: true, rest: ";charset=us"},
	} {
		got, ok := parseKind(contentType)
		equal(t, contentType, []any{got.text, got.rest, ok}, []any{want.text, want.rest, true})
	}
	for _, contentType := range []string{
		"", "application/grpc", "application/grpc+proto", "application/grpc-website",
		"application/grpc-web-textual", "text/plain",
	} {
		if _, ok := parseKind(contentType); ok {
			t.Errorf("%q is taken for gRPC-Web", contentType)
		}
	}
	for accept, want := range map[string]bool{
		"": true, "*/*": true, "application/grpc-web": false, "application/grpc-web+proto, */*": false,
		"text/html, application/grpc-web-text": true,
	} {
		equal(t, "text to "+accept, wantsText(http.Header{"Accept": {accept}}, kind{text: true}), want)
		equal(t, "binary to "+accept, wantsText(http.Header{"Accept": {accept}}, kind{}),
			accept == "text/html, application/grpc-web-text")
	}
}

// TestPreflight compares the answers to preflight requests with the README.
func TestPreflight(t *testing.T) {
	vary := []string{"Origin", requestMethod, requestHeaders}
	for name, test := range map[string]struct {
		origins []string
		headers []string
		want    http.Header
		reason  string
	}{
		"allowed": {
			[]string{"https://a.example"},
			[]string{
				"Origin: https://a.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: content-type,x-grpc-web, x-user-agent,b@d",
			},
			http.Header{
				"Vary": vary, allowOrigin: {"https://a.example"}, allowCredentials: {"true"}, allowMethods: {"POST"},
				allowHeaders: {"Content-Type, X-Grpc-Web, X-User-Agent"}, maxAge: {"600"},
			},
			"",
		},
		"all are": {
			[]string{"*"},
			[]string{
				"Origin: https://b.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: X-Grpc-Web",
			},
			http.Header{
				"Vary": vary, allowOrigin: {"https://b.example"}, allowCredentials: {"true"}, allowMethods: {"POST"},
				allowHeaders: {"X-Grpc-Web"}, maxAge: {"600"},
			},
			"",
		},
		"none is": {
			nil,
			[]string{
				"Origin: https://a.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: x-grpc-web",
			},
			http.Header{"Vary": vary},
			"middleware web@file: the origin is not allowed",
		},
		"no origin": {
			[]string{"*"},
			[]string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-grpc-web"},
			http.Header{"Vary": vary},
			"middleware web@file: the origin is not allowed",
		},
		"two origins": {
			[]string{"*"},
			[]string{
				"Origin: https://a.example", "Origin: https://b.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: x-grpc-web",
			},
			http.Header{"Vary": vary},
			"middleware web@file: the origin is not allowed",
		},
		"another method": {
			[]string{"*"},
			[]string{
				"Origin: https://a.example", "Access-Control-Request-Method: PUT",
				"Access-Control-Request-Headers: x-grpc-web",
			},
			http.Header{"Vary": vary},
			"middleware web@file: a call is made with POST",
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := &telemetry.Record{}
			r := middlewaretest.Request(t, "OPTIONS /test.Echo/Unary", test.headers...)
			recorder := httptest.NewRecorder()
			web := build(t, test.origins...)
			web.Wrap(http.NotFoundHandler()).ServeHTTP(recorder, r.WithContext(telemetry.WithRecord(r.Context(), record)))
			equal(t, "status", []any{recorder.Code, recorder.Body.Len(), record.Reason}, []any{200, 0, test.reason})
			equal(t, "header", recorder.Header(), test.want)
			equal(t, "count", web.Counts()["preflights"], uint64(1))
		})
	}
}

// TestOthersPass demands that what is no call comes through untouched, writer and all.
func TestOthersPass(t *testing.T) {
	for _, one := range [][]string{
		{"GET /"},
		{"GET /", "Content-Type: application/grpc-web"},
		{"POST /"},
		{"POST /", "Content-Type: application/grpc"},
		{"POST /", "Content-Type: application/json", "Origin: https://a.example"},
		{"POST /", "Content-Type: application/grpc-web", "Content-Type: text/plain"},
		{"OPTIONS /", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type"},
		{"OPTIONS /", "Access-Control-Request-Headers: x-grpc-web"},
		{"OPTIONS /", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-grpc-website"},
		{"GET /", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Protocol: grpc-websockets"},
	} {
		r := middlewaretest.Request(t, one[0], one[1:]...)
		before, writer := r.Header.Clone(), new(middlewaretest.Writer)
		passed := false
		build(t, "*").Wrap(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
			passed = w == writer && got == r
		})).ServeHTTP(writer, r)
		equal(t, strings.Join(one, " "), []any{passed, len(writer.Header())}, []any{true, 0})
		equal(t, "header", r.Header, before)
	}
}

// TestRequest checks the call that the service gets.
func TestRequest(t *testing.T) {
	for _, asText := range []bool{false, true} {
		contentType := map[bool]string{false: "application/grpc-web+proto", true: "application/grpc-web-text+proto"}[asText]
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/test.Echo/Unary", strings.NewReader("AAAAAAA="))
		r.Header = http.Header{
			"Content-Type": {contentType}, "content_type": {"forged"}, "Te": {"gzip"}, "Content-Length": {"8"},
			"X-Grpc-Web": {"1"}, "Authorization": {"b"},
		}
		var got []byte
		build(t).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			want := http.Header{
				"Content-Type": {"application/grpc+proto"}, "Te": {"trailers"}, "X-Grpc-Web": {"1"},
				"Authorization": {"b"},
			}
			length := int64(-1)
			if !asText {
				want["Content-Length"], length = []string{"8"}, 8
			}
			equal(t, "header", r.Header, want)
			equal(t, "length", []any{r.ContentLength, r.ProtoMajor}, []any{length, 1})
			got, _ = io.ReadAll(r.Body)
		})).ServeHTTP(httptest.NewRecorder(), r)
		equal(t, "body", string(got), map[bool]string{false: "AAAAAAA=", true: "\x00\x00\x00\x00\x00"}[asText])
	}
}

// direct is a writer that takes a body in one go.
type direct struct {
	middlewaretest.Writer
	body     bytes.Buffer
	flushes  int
	deadline time.Time
	codes    []int
}

// WriteHeader notes the status.
func (d *direct) WriteHeader(status int) {
	d.codes = append(d.codes, status)
	d.Writer.WriteHeader(status)
}

// Write keeps the body.
func (d *direct) Write(p []byte) (int, error) { return d.body.Write(p) }

func (*direct) Splices() bool { return true }

// Flush counts.
func (d *direct) Flush() { d.flushes++ }

// SetReadDeadline notes the deadline.
func (d *direct) SetReadDeadline(deadline time.Time) error {
	d.deadline = deadline
	return nil
}

// TestWriterKeepsItsAbilities demands that what the server's writer can do, the one that the service gets can do too.
func TestWriterKeepsItsAbilities(t *testing.T) {
	for _, contentType := range []string{webType, textType} {
		t.Run(contentType, func(t *testing.T) {
			writer := &direct{}
			r := middlewaretest.Request(t, "POST /", "Content-Type: "+contentType, "Content-Length: 0")
			build(t).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "</a>")
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Set("Content-Type", nativeType)
				w.Header().Set("Content-Length", "10")
				w.WriteHeader(200)
				equal(t, "splices", w.(*reply).Splices(), contentType == webType)
				n, err := io.WriteString(w, "\x00\x00\x00\x00\x01")
				equal(t, "string", []any{n, err}, []any{5, nil})
				equal(t, "flush", http.NewResponseController(w).Flush(), nil)
				n64, err := w.(io.ReaderFrom).ReadFrom(iotest.OneByteReader(strings.NewReader("a\x00\x00\x00\x00\x01b")))
				equal(t, "read", []any{n64, err}, []any{int64(7), nil})
				equal(t, "flush", http.NewResponseController(w).Flush(), nil)
				deadline := time.Unix(100, 0)
				equal(t, "deadline", []any{http.NewResponseController(w).SetReadDeadline(deadline), writer.deadline},
					[]any{nil, deadline})
				_, _, err = http.NewResponseController(w).Hijack()
				equal(t, "hijack", errors.Is(err, http.ErrNotSupported), true)
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
			})).ServeHTTP(writer, r)
			equal(t, "codes", writer.codes, []int{103, 200})
			equal(t, "flushes", writer.flushes, 2)
			equal(t, "header", writer.Header(), http.Header{"Link": {"</a>"}, "Content-Type": {contentType}, "Vary": {"Origin"}})
			want := "\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x01b\x80\x00\x00\x00\x10grpc-status: 0\r\n"
			if contentType == textType {
				want = base64.StdEncoding.EncodeToString([]byte(want[:12])) + base64.StdEncoding.EncodeToString([]byte(want[12:]))
			}
			equal(t, "body", writer.body.String(), want)
		})
	}
}

// TestPanicPasses demands that an answer which breaks off gets no trailers.
func TestPanicPasses(t *testing.T) {
	writer := &direct{}
	defer func() {
		equal(t, "panic", recover() == http.ErrAbortHandler, true) //nolint:errorlint // the value of a panic
		equal(t, "body", writer.body.String(), "x")
	}()
	build(t).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", nativeType)
		_, _ = io.WriteString(w, "x")
		panic(http.ErrAbortHandler)
	})).ServeHTTP(writer, middlewaretest.Request(t, "POST /", "Content-Type: application/grpc-web"))
}

// TestLateWrites checks that writes after the end have no effect.
func TestLateWrites(t *testing.T) {
	writer := &direct{}
	var late http.ResponseWriter
	build(t).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		late = w
		w.Header().Set("Content-Type", nativeType)
		w.Header().Set("Grpc-Status", "0")
	})).ServeHTTP(writer, middlewaretest.Request(t, "POST /", "Content-Type: application/grpc-web-text"))
	_, err := late.Write([]byte("late"))
	equal(t, "late", []any{errors.Is(err, errOver), http.NewResponseController(late).Flush() != nil, writer.body.Len()},
		[]any{true, true, 0})
}

// FuzzText checks that text is decoded in whatever pieces it arrives, with padding, and that invalid text is not.
func FuzzText(f *testing.F) {
	f.Add([]byte("hello, world"), 3, "")
	f.Add([]byte{0, 0, 0, 0, 1, 'a', 0x80, 0, 0, 0, 0}, 6, "\r\n")
	f.Add(bytes.Repeat([]byte("x"), 10_000), 4096, "=")
	f.Add([]byte{}, 1, "AAA")
	f.Fuzz(func(t *testing.T, data []byte, piece int, tail string) {
		piece = max(piece, 1)
		var text strings.Builder
		for rest := data; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			text.WriteString(base64.StdEncoding.EncodeToString(rest[:min(piece, len(rest))]))
		}
		for _, reader := range []io.Reader{
			strings.NewReader(text.String()),
			iotest.OneByteReader(strings.NewReader(text.String())), iotest.DataErrReader(strings.NewReader(text.String())),
		} {
			got, err := io.ReadAll(newDecoder(io.NopCloser(reader)))
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%q becomes %q, %v", data, got, err)
			}
		}
		got, err := io.ReadAll(newDecoder(io.NopCloser(strings.NewReader(text.String() + tail))))
		if !bytes.HasPrefix(got, data) || err != nil && !errors.Is(err, errNoBase64) && !errors.Is(err, errCut) {
			t.Errorf("%q and %q become %q, %v", data, tail, got, err)
		}
		if clean := strings.NewReplacer("\r", "", "\n", "").Replace(tail); len(clean)%4 != 0 && err == nil {
			t.Errorf("%q is taken for base64", tail)
		}
	})
}

// FuzzEncode checks that frames are recovered from their text however they are split and flushed, and that padding is
// at ends of messages.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("hello"), 3, 2)
	f.Add(bytes.Repeat([]byte("x"), 5000), 700, 1)
	f.Fuzz(func(t *testing.T, data []byte, size, piece int) {
		size, piece = max(size, 1), max(piece, 1)
		var frames []byte
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			message := rest[:min(size, len(rest))]
			frames = binary.BigEndian.AppendUint32(append(frames, 0), uint32(len(message))) //nolint:gosec // a test's
			frames = append(frames, message...)
		}
		var text bytes.Buffer
		var e encoder
		for rest := frames; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			if n, err := e.write(&text, rest[:min(piece, len(rest))]); err != nil || n != min(piece, len(rest)) {
				t.Fatal(n, err)
			}
			if err := e.pad(&text, false); err != nil {
				t.Fatal(err)
			}
			if e.frames.between() && text.Len()%4 != 0 {
				t.Fatalf("a message ends within a group: %q", text.Bytes())
			}
		}
		if !e.frames.between() {
			t.Error("the last message has no end")
		}
		if err := e.pad(&text, true); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(newDecoder(io.NopCloser(&text)))
		if err != nil || !bytes.Equal(got, frames) {
			t.Errorf("%q becomes %q, %v", frames, got, err)
		}
	})
}

// FuzzTrailers asserts that a frame of trailers can be taken apart into lines whatever the values are.
func FuzzTrailers(f *testing.F) {
	f.Add("Grpc-Message", "as requested: 100%", "x")
	f.Add("X-A", "a\r\nGrpc-Status: 0", "")
	f.Fuzz(func(t *testing.T, name, first, second string) {
		if name == "" || strings.ContainsAny(name, ": \r\n") {
			return
		}
		frame := trailerFrame(http.Header{name: {first, second}})
		if frame[0] != trailerFlag || int(binary.BigEndian.Uint32(frame[1:])) != len(frame)-frameHead {
			t.Fatalf("%q", frame)
		}
		lines := strings.Split(string(frame[frameHead:]), "\r\n")
		if len(lines) != 3 || lines[2] != "" || !strings.HasPrefix(lines[0], strings.ToLower(name)+": ") ||
			!strings.HasPrefix(lines[1], strings.ToLower(name)+": ") {
			t.Errorf("%q", lines)
		}
	})
}

// BenchmarkOthers is what a request costs that is none of gRPC-Web.
func BenchmarkOthers(b *testing.B) {
	for name, one := range map[string][]string{
		"get":     {"GET /"},
		"post":    {"POST /", "Content-Type: application/json"},
		"options": {"OPTIONS /"},
	} {
		b.Run(name, func(b *testing.B) {
			handler := build(b, "*").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r, writer := middlewaretest.Request(b, one[0], one[1:]...), new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(writer, r)
			}
		})
	}
}
