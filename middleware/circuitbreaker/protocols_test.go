package circuitbreaker

import (
	"bufio"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// everything is an expression for which everything is counted.
const everything = "NetworkErrorRatio() > 2 || LatencyAtQuantileMS(50.0) > 1000000"

// served is a breaker behind a server.
type served struct {
	breaker *breaker
	client  *http.Client
	url     string
}

// onAllServers runs a test behind our server of HTTP/1.1, and behind the standard library's of HTTP/1.1, HTTP/2 and
// h2c.
func onAllServers(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, protocol string, s *served)) {
	t.Helper()
	for _, protocol := range []string{"http1", "h1", "h2", "h2c"} {
		t.Run(protocol, func(t *testing.T) {
			s := &served{breaker: build(t, dynamic.CircuitBreaker{Expression: everything},
				nil).For("router web@file").(*breaker)}
			s.start(t, protocol, s.breaker.Wrap(handler))
			test(t, protocol, s)
		})
	}
}

func (s *served) start(t *testing.T, protocol string, handler http.Handler) {
	t.Helper()
	if protocol == "http1" {
		s.url, s.client = "http://"+ownServer(t, handler), &http.Client{Transport: &http.Transport{DisableCompression: true}}
		t.Cleanup(s.client.CloseIdleConnections)
		return
	}
	server := httptest.NewUnstartedServer(handler)
	t.Cleanup(server.Close)
	switch protocol {
	case "h2":
		server.EnableHTTP2 = true
		server.StartTLS()
	case "h2c":
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		wire := &http.Transport{Protocols: server.Config.Protocols}
		t.Cleanup(wire.CloseIdleConnections)
		s.url, s.client = server.URL, &http.Client{Transport: wire}
		return
	default:
		server.Start()
	}
	s.url, s.client = server.URL, server.Client()
}

// ownServer serves HTTP/1.1 as an entrypoint does.
func ownServer(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	return http1test.Serve(t, &server.Server{Handler: handler}, nil).Address
}

// do sends a request and returns the response. Its body is closed at the end of the test.
func (s *served) do(t *testing.T, method string, body io.Reader) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url, body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// counted compares how many responses count, and as which status.
func (s *served) counted(t *testing.T, requests, errors uint64) {
	t.Helper()
	w, now := s.breaker.phase.Load().window, s.breaker.now()
	if got, failed := w.requests(now), w.counts.sum(now, networkCount); got != requests || failed != errors {
		t.Errorf("%d responses count, %d of them as errors; want %d and %d", got, failed, requests, errors)
	}
}

func TestResponsesOfAllShapes(t *testing.T) {
	for name, shape := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
		errors  uint64
	}{
		"nothing": {func(http.ResponseWriter, *http.Request) {}, 200, "", 0},
		"status":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, "", 0},
		"body":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }, 200, "x", 0},
		"string":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }, 200, "x", 0},
		"copy":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("x")) }, 200, "x", 0},
		"flush":   {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, 200, "", 0},
		"error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "x", http.StatusBadGateway)
		}, 502, "x\n", 1},
		"twice": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(504)
			if w, ok := w.(io.StringWriter); ok {
				_, _ = w.WriteString("x")
			}
		}, 504, "x", 1},
		"controls": {func(w http.ResponseWriter, _ *http.Request) {
			control := http.NewResponseController(w)
			if err := errors.Join(control.SetWriteDeadline(time.Time{}), control.SetReadDeadline(time.Time{}),
				control.Flush()); err != nil {
				w.WriteHeader(500)
			}
		}, 200, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			onAllServers(t, shape.handler, func(t *testing.T, _ string, s *served) {
				answer := s.do(t, http.MethodGet, http.NoBody)
				body, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != shape.status || string(body) != shape.body {
					t.Errorf("the answer is %d %q, %v", answer.StatusCode, body, err)
				}
				s.counted(t, 1, shape.errors)
				head := s.do(t, http.MethodHead, http.NoBody)
				if body, err := io.ReadAll(head.Body); err != nil || head.StatusCode != shape.status || len(body) > 0 {
					t.Errorf("the answer to HEAD is %d %q, %v", head.StatusCode, body, err)
				}
				s.counted(t, 2, 2*shape.errors)
			})
		})
	}
}

func TestInformationalResponses(t *testing.T) {
	onAllServers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "x")
	}, func(t *testing.T, _ string, s *served) {
		var hints []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(status int,
			header textproto.MIMEHeader,
		) error {
			hints = append(hints, http.StatusText(status)+" "+header.Get("Link"))
			return nil
		}})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if diff := cmp.Diff([]string{"Early Hints </a.css>"}, hints); diff != "" || answer.StatusCode != 200 {
			t.Errorf("status %d, hints %s", answer.StatusCode, diff)
		}
		s.counted(t, 1, 0)
	})
}

// TestStreamsInBothDirections is what a gRPC call looks like: messages go to and fro, each is flushed, and trailers end
// it.
func TestStreamsInBothDirections(t *testing.T) {
	onAllServers(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() // HTTP/2 needs no leave.
		w.Header().Set("Trailer", "Grpc-Status")
		body := bufio.NewReader(r.Body)
		for {
			line, err := body.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = io.WriteString(w, line)
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", "late")
	}, func(t *testing.T, _ string, s *served) {
		out, in := io.Pipe()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.WriteString(in, "first\n")
		}()
		answer := s.do(t, http.MethodPost, out)
		<-sent
		s.counted(t, 1, 0) // while it goes on
		replies := bufio.NewReader(answer.Body)
		for _, line := range []string{"first\n", "second\n", "third\n"} {
			if line != "first\n" {
				_, _ = io.WriteString(in, line)
			}
			if got, err := replies.ReadString('\n'); got != line {
				t.Fatalf("read %q, %v", got, err)
			}
		}
		_ = in.Close()
		if _, err := io.ReadAll(replies); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(http.Header{"Grpc-Status": {"0"}, "Grpc-Message": {"late"}}, answer.Trailer); diff != "" {
			t.Error(diff)
		}
		s.counted(t, 1, 0)
	})
}

func TestEarlyAnswers(t *testing.T) {
	onAllServers(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() // HTTP/2 needs no leave.
		w.WriteHeader(http.StatusForbidden)
		// The standard library's server waits for the body otherwise. A client of HTTP/2 that has the answer may end the
		// stream before Flush returns.
		if err := control.Flush(); err != nil && r.Context().Err() == nil {
			t.Error(err)
		}
	}, func(t *testing.T, _ string, s *served) {
		out, in := io.Pipe()
		defer func() { _ = in.Close() }()
		if answer := s.do(t, http.MethodPost, out); answer.StatusCode != http.StatusForbidden {
			t.Errorf("status %d", answer.StatusCode)
		}
		s.counted(t, 1, 0)
	})
}

func TestWebSockets(t *testing.T) {
	onAllServers(t, func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = socket.CloseNow() }()
		for {
			kind, message, err := socket.Read(r.Context())
			if err != nil || socket.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}, func(t *testing.T, protocol string, s *served) {
		if strings.HasPrefix(protocol, "h2") {
			return // net/http has no WebSockets there.
		}
		socket, _, err := websocket.Dial(t.Context(), s.url, &websocket.DialOptions{HTTPClient: s.client}) //nolint:bodyclose // there is none
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range []string{"one", "two"} {
			if err := socket.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
				t.Fatal(err)
			}
			if _, got, err := socket.Read(t.Context()); string(got) != message {
				t.Fatalf("read %q, %v", got, err)
			}
			s.counted(t, 1, 0) // while it is open
		}
		if err := socket.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
		s.counted(t, 1, 0)
	})
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRefusal compares an answer in the service's place byte by byte.
func TestRefusal(t *testing.T) {
	var got strings.Builder
	for _, status := range []int{0, 429} {
		b := build(t, dynamic.CircuitBreaker{Expression: onErrors, ResponseCode: status}, nil).For("router web@file")
		address := ownServer(t, b.Wrap(answering(http.StatusBadGateway)))
		for _, method := range []string{"GET", "GET", "HEAD"} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			head := method + " / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n"
			_, _ = io.WriteString(conn, head)
			answer, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			_, _ = got.WriteString("> " + method + "\n")
			_, _ = got.WriteString(ordered(string(answer)))
		}
	}
	const golden = "testdata/refusal.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// ordered returns an answer without its Date, and with its fields in order.
func ordered(answer string) string {
	head, body, _ := strings.Cut(strings.ReplaceAll(answer, "\r\n", "\n"), "\n\n")
	lines := slices.DeleteFunc(strings.Split(head, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "Date: ")
	})
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n\n" + body
}
