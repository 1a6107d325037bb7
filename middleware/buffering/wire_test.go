package buffering_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/httpio/replay/replaytest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// TestUploads come to the service with a length, and with the trailers that they end with.
func TestUploads(t *testing.T) {
	empty := temporary(t)
	uploads := func(t *testing.T, client, upstream string) {
		step := newBuffering(t, dynamic.Buffering{MaxRequestBodyBytes: 200_000, MemRequestBodyBytes: 50_000})
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
			r *http.Request,
		) {
			empty()
			n, err := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprint(w, n, " of ", r.ContentLength, err, r.Trailer.Get("X-T"))
		}})
		for _, test := range []struct {
			size    int
			known   bool
			trailer string
			want    string
		}{
			{0, true, "", "200 0 of 0 <nil>"},
			{1000, true, "", "200 1000 of 1000 <nil>"},
			{1000, false, "", "200 1000 of 1000 <nil>"},
			{200_000, true, "", "200 200000 of 200000 <nil>"},
			{200_000, false, "", "200 200000 of 200000 <nil>"},
			{200_000, false, "end", "200 200000 of -1 <nil>end"},
			{200_001, true, "", "413 Request Entity Too Large\n"},
			{200_001, false, "", "413 Request Entity Too Large\n"},
			{2_000_000, false, "end", "413 Request Entity Too Large\n"},
		} {
			var body io.Reader = bytes.NewReader(make([]byte, test.size))
			if !test.known {
				body = onlyReader{body}
			}
			r := g.Request(http.MethodPost, "/", body)
			if test.trailer != "" {
				r.Trailer = http.Header{"X-T": {test.trailer}}
			}
			response, text, err := g.Do(client, r)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(response.StatusCode, " ", text); got != test.want {
				t.Errorf("%+v: got %q", test, got)
			}
		}
	}
	// In turns, because a file has a name for an instant.
	for _, client := range []string{"h1", "h2c"} {
		for _, upstream := range []string{"h1", "h2c"} {
			t.Run(client+"-"+upstream, func(t *testing.T) { uploads(t, client, upstream) })
		}
	}
}

// TestDownloads come to the client with all that the service said.
func TestDownloads(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step := newBuffering(t, dynamic.Buffering{MaxResponseBodyBytes: 200_000, MemResponseBodyBytes: 50_000})
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
			r *http.Request,
		) {
			size := 0
			_, _ = fmt.Sscan(r.URL.Query().Get("size"), &size)
			if r.URL.Query().Has("trailer") {
				w.Header().Set("Trailer", "X-T")
				defer w.Header().Set("X-T", "end")
			}
			w.WriteHeader(http.StatusTeapot)
			for range size / 1000 {
				_, _ = w.Write(make([]byte, 1000))
				_ = http.NewResponseController(w).Flush()
			}
		}})
		for _, test := range []struct{ method, query, want string }{
			{"GET", "size=0", "418 0 of 0 "},
			{"HEAD", "size=0", "418 0 of -1 "},
			{"GET", "size=1000", "418 1000 of 1000 "},
			{"GET", "size=200000", "418 200000 of 200000 "},
			{"GET", "size=200000&trailer", "418 200000 of -1 end"},
			{"GET", "size=201000", "500 22 of 22 "},
			{"GET", "size=201000&trailer", "500 22 of 22 "},
		} {
			response, text, err := g.Do(client, g.Request(test.method, "/?"+test.query, nil))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(response.StatusCode, " ", len(text), " of ", response.ContentLength, " ",
				response.Trailer.Get("X-T"))
			if test.method == "HEAD" {
				got = strings.Replace(got, "of 0", "of -1", 1)
			}
			if got != test.want {
				t.Errorf("%s %s: got %q", test.method, test.query, got)
			}
		}
		if got := step.Counts()["response_too_large"]; got != 2 {
			t.Errorf("%d are counted as too large", got)
		}
	})
}

// TestStreamsPass has both sides talk to each other, which they can't when bodies are kept.
func TestStreamsPass(t *testing.T) {
	t.Run("server-sent events", func(t *testing.T) {
		rig.Matrix(t, func(t *testing.T, client, upstream string) {
			step, next := newBuffering(t, dynamic.Buffering{
				MaxRequestBodyBytes: 10, MaxResponseBodyBytes: 100,
				RetryExpression: "IsNetworkError()",
			}), make(chan struct{})
			g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
				_ *http.Request,
			) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range 3 {
					_, _ = io.WriteString(w, "data: x\n\n")
					_ = http.NewResponseController(w).Flush()
					<-next
				}
			}})
			response, err := g.Client(client).Do(g.Request(http.MethodPost, "/", strings.NewReader("body")))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() //nolint:errcheck // a test's
			for range 3 {
				event := make([]byte, 9)
				if _, err := io.ReadFull(response.Body, event); err != nil || string(event) != "data: x\n\n" {
					t.Fatalf("got %q, %v", event, err)
				}
				next <- struct{}{}
			}
			if _, err := response.Body.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the end is %v", err)
			}
		})
	})
	t.Run("gRPC", func(t *testing.T) {
		step := newBuffering(t, dynamic.Buffering{MaxRequestBodyBytes: 100, MaxResponseBodyBytes: 100})
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: "h2c", Endpoint: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			message := make([]byte, 10)
			for {
				if _, err := io.ReadFull(r.Body, message); err != nil {
					w.Header().Set("Grpc-Status", "0")
					w.Header().Set(http.TrailerPrefix+"Grpc-Message", "done")
					return
				}
				_, _ = w.Write(message)
				_ = http.NewResponseController(w).Flush()
			}
		}})
		for _, messages := range []int{10, 11} {
			reader, writer := io.Pipe()
			go func() { _, _ = io.WriteString(writer, "0123456789") }()
			response, err := g.Client("h2c").Do(g.Request(http.MethodPost, "/", reader, "Content-Type",
				"application/grpc+proto"))
			if err != nil {
				t.Fatal(err)
			}
			for i := range messages {
				if i > 0 {
					_, _ = io.WriteString(writer, "0123456789")
				}
				if _, err = io.ReadFull(response.Body, make([]byte, 10)); err != nil {
					break
				}
			}
			_ = writer.Close()
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
			}
			_ = response.Body.Close()
			trailer := response.Trailer.Get("Grpc-Status") + response.Trailer.Get("Grpc-Message")
			if whole := messages == 10; whole != (err == nil) || whole != (trailer == "0done") {
				t.Errorf("%d messages: %v, %q", messages, err, trailer)
			}
		}
		if counts := step.Counts(); counts["too_large"]+counts["response_too_large"] == 0 {
			t.Errorf("counted %v", counts)
		}
	})
}

// TestWebSocketsPass with and without limits and retries.
func TestWebSocketsPass(t *testing.T) {
	for _, config := range []dynamic.Buffering{{}, {
		MaxRequestBodyBytes: 10, MaxResponseBodyBytes: 10,
		RetryExpression: "Attempts() < 5",
	}} {
		step := newBuffering(t, config)
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, _ *http.Request) {
			conn, buffers, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close() //nolint:errcheck // a test's
			_, _ = buffers.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_ = buffers.Flush()
			_, _ = io.Copy(conn, buffers)
		}})
		conn, reader := g.Raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("got %+v, %v", response, err)
		}
		for range 10 {
			_, _ = io.WriteString(conn, "0123456789")
			if _, err := io.ReadFull(reader, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestContinue demands 100 Continue for a client that expects it, unless the body is too large.
func TestContinue(t *testing.T) {
	step := newBuffering(t, dynamic.Buffering{MaxRequestBodyBytes: 4})
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %q", body, r.Header["Expect"])
	}})
	conn, reader := g.Raw("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	if line, err := reader.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _ = reader.ReadString('\n')
	_, _ = io.WriteString(conn, "body")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "body []" {
		t.Errorf("got %q, %v", body, err)
	}
	_, reader = g.Raw("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	if line, err := reader.ReadString('\n'); err != nil || line != "HTTP/1.1 413 Request Entity Too Large\r\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestHints reach the client before the response does.
func TestHints(t *testing.T) {
	step, proceed := newBuffering(t, dynamic.Buffering{}), make(chan struct{})
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		<-proceed
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "body")
	}})
	_, reader := g.Raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	head := ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		head += line
	}
	if !strings.HasPrefix(head, "HTTP/1.1 103 ") || !strings.Contains(head, "preload") {
		t.Errorf("got %q", head)
	}
	close(proceed)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != 200 || response.Header.Get("Link") != "" {
		t.Errorf("got %+v, %v", response, err)
	}
}

// TestClientsThatLeave leave nothing behind.
func TestClientsThatLeave(t *testing.T) {
	empty := temporary(t)
	step := newBuffering(t, dynamic.Buffering{MemRequestBodyBytes: 1000, MemResponseBodyBytes: 1000})
	asked := make(chan struct{}, 10)
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		_, _ = w.Write(make([]byte, 100_000))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	conn, _ := g.Raw("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 500_000))
	_ = conn.Close()
	if record := g.Record(); record.Status != 499 || len(asked) > 0 {
		t.Errorf("recorded %d, %q", record.Status, record.Reason)
	}
	conn, _ = g.Raw("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000))
	http1test.Receive(t, asked, "the service")
	_ = conn.Close()
	if record := g.Record(); record.Status != 499 && record.Status != 200 {
		t.Errorf("recorded %d, %q", record.Status, record.Reason)
	}
	if empty(); replaytest.OpenFiles(t) > 0 {
		t.Error("files are open")
	}
}

// TestFailures shows what a client sees of an endpoint that fails in seven ways, with a request that is repeated and
// one that is not.
func TestFailures(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
	says := func(text string) func(net.Conn, *http.Request) {
		return func(conn net.Conn, _ *http.Request) { _, _ = io.WriteString(conn, text) }
	}
	hangs := func(conn net.Conn, _ *http.Request) { _, _ = io.Copy(io.Discard, conn) }
	for name, test := range map[string]struct {
		script          func(conn net.Conn, r *http.Request)
		once, repeating string
		tries           int64
	}{
		"resets": {func(conn net.Conn, _ *http.Request) {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}, "502 Bad Gateway", "200 ok", 2},
		"hangs": {hangs, "504 Gateway Timeout", "200 ok", 2},
		"answers half": {
			says("HTTP/1.1 200 OK\r\nSet-Cookie: leak=1\r\nContent-Length: 9\r\n\r\nhalf"), "502 Bad Gateway\n", "200 ok", 2,
		},
		"500": {says("HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\nsorry"), "500 sorry", "500 sorry", 1},
		"slow": {func(conn net.Conn, _ *http.Request) {
			for _, piece := range strings.SplitAfter("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nslow", "\n") {
				_, _ = io.WriteString(conn, strings.TrimSuffix(piece, "slow")+strings.Repeat("s", strings.Count(piece, "slow")*3))
				timer := time.NewTimer(20 * time.Millisecond)
				<-timer.C
			}
		}, "200 sss", "200 sss", 1},
		"early answer": {says("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"), "403 no", "403 no", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := http1test.Timeout
			if name == "hangs" {
				timeout = time.Second
			}
			for _, expression := range []string{"", "IsNetworkError() && Attempts() < 4"} {
				var tries atomic.Int64
				server := scripted(t, func(conn net.Conn, r *http.Request) {
					if tries.Add(1) == 1 {
						test.script(conn, r)
					} else {
						says(ok)(conn, r)
					}
				})
				step := newBuffering(t, dynamic.Buffering{RetryExpression: expression})
				g := rig.New(t, rig.Setup{Wrap: step.Wrap, Server: server, ResponseHeaderTimeout: timeout})
				want, wantTries := test.once, int64(1)
				if expression != "" {
					want, wantTries = test.repeating, test.tries
				}
				response, text, err := g.Do("h1", g.Request(http.MethodPost, "/", strings.NewReader("body")))
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(response.StatusCode, " ", text); got != want || tries.Load() != wantTries ||
					response.Header.Get("Set-Cookie") != "" {
					t.Errorf("%q: got %q after %d tries, %v", expression, got, tries.Load(), response.Header)
				}
				if record := g.Record(); record.Status != response.StatusCode || (record.Status < 500) != (record.Reason == "") &&
					record.Status != 500 {
					t.Errorf("%q: recorded %d, %q", expression, record.Status, record.Reason)
				}
			}
		})
	}
	t.Run("refuses", func(t *testing.T) {
		step := newBuffering(t, dynamic.Buffering{RetryExpression: "IsNetworkError()"})
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Server: "http://" + http1test.Reserve(t)})
		response, text, err := g.Do("h1", g.Request(http.MethodGet, "/", nil))
		if err != nil || response.StatusCode != 502 || text != "Bad Gateway" {
			t.Errorf("got %+v, %q, %v", response, text, err)
		}
		if record := g.Record(); record.Tries != 11 || step.Counts()["retried"] != 10 {
			t.Errorf("%d tries", record.Tries)
		}
	})
}

// scripted starts an endpoint that answers each connection with the script, after it has read one request.
func scripted(t *testing.T, script func(conn net.Conn, r *http.Request)) (url string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				script(conn, r)
			}
			_ = conn.Close()
			stop()
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}
