package grpcweb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// service is a gRPC service without generated code. next continues a stream, here reports that a call waits, gone that
// a call was cancelled.
type service struct {
	next, here chan struct{}
	gone       chan error
}

func (s *service) description() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(
			_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor,
		) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			sent, _ := metadata.FromIncomingContext(ctx)
			if in.GetValue() != "wait" {
				// With a header of its own, a status goes out in two parts, and the server may reset the stream between them.
				_ = grpc.SetHeader(ctx, metadata.Pairs("x-head", strings.Join(sent["x-sent"], ",")))
			}
			_ = grpc.SetTrailer(ctx, metadata.Pairs("x-trailer", "end", "x-trailer", "twice"))
			switch in.GetValue() {
			case "fail":
				return nil, status.Error(codes.FailedPrecondition, "as requested: 100%")
			case "wait":
				close(s.here)
				<-ctx.Done()
				s.gone <- ctx.Err()
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			return wrapperspb.String("echo " + in.GetValue()), nil
		}}},
		Streams: []grpc.StreamDesc{{
			StreamName: "Many", ServerStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				in := &wrapperspb.StringValue{}
				if err := stream.RecvMsg(in); err != nil {
					return err
				}
				for i := range 3 {
					if err := stream.SendMsg(wrapperspb.String(fmt.Sprint(in.GetValue(), i))); err != nil {
						return err
					}
					if s.next != nil {
						<-s.next
					}
				}
				return status.Error(codes.ResourceExhausted, "enough")
			},
		}},
	}
}

// stage starts a gRPC server, and the middleware in front of it on a server of the protocol.
func stage(t *testing.T, front, upstream string, s *service, origins ...string) (string, *http.Client, *GRPCWeb) {
	t.Helper()
	server := grpc.NewServer()
	server.RegisterService(s.description(), nil)
	t.Cleanup(server.Stop)
	endpoint := ""
	if upstream == "h2" { // gRPC on net/http.
		endpoint = rig.Listen(t, upstream, server).URL
	} else {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(listener) }()
		endpoint = "h2c://" + listener.Addr().String()
	}
	web, err := New("web@file", dynamic.GrpcWeb{AllowOrigins: origins})
	if err != nil {
		t.Fatal(err)
	}
	url, client, _ := rig.Serve(t, front, web.Wrap(rig.Service(t, "echo@file", endpoint)))
	return url, client, web
}

func frame(t *testing.T, text string) []byte {
	t.Helper()
	message, err := proto.Marshal(wrapperspb.String(text))
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...) //nolint:gosec // a test's
}

// call sends a message to a method, in binary or as text, of which every piece is padded.
func call(t *testing.T, client *http.Client, url, method, text string, asText bool, headers ...string) *http.Response {
	t.Helper()
	body, kind := frame(t, text), "application/grpc-web+proto"
	if asText {
		kind = "application/grpc-web-text"
		body = []byte(base64.StdEncoding.EncodeToString(body[:4]) + base64.StdEncoding.EncodeToString(body[4:]))
	}
	r := request(t, http.MethodPost, url+"/test.Echo/"+method, bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-Grpc-Web", "1")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// incoming reads an answer, one message after the other.
type incoming struct {
	reader *bufio.Reader
}

func read(response *http.Response, asText bool) *incoming {
	if asText {
		return &incoming{bufio.NewReader(newDecoder(response.Body))}
	}
	return &incoming{bufio.NewReader(response.Body)}
}

// message returns the next message, or the trailers.
func (a *incoming) message(t *testing.T) (text, trailers string) {
	t.Helper()
	var head [frameHead]byte
	if _, err := io.ReadFull(a.reader, head[:]); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(a.reader, body); err != nil {
		t.Fatal(err)
	}
	if head[0] == trailerFlag {
		return "", string(body)
	}
	out := &wrapperspb.StringValue{}
	if err := proto.Unmarshal(body, out); err != nil {
		t.Fatal(err)
	}
	return out.GetValue(), ""
}

func (a *incoming) end(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(a.reader); len(rest) > 0 || err != nil {
		t.Errorf("%q follows, %v", rest, err)
	}
}

// matrix runs a test on all pairs of protocols, in binary and as text.
func matrix(t *testing.T, test func(t *testing.T, front, upstream string, asText bool)) {
	t.Helper()
	for _, front := range []string{"h1", "h2", "h2c"} {
		for _, upstream := range []string{"h2", "h2c"} {
			for _, asText := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s-%s text %v", front, upstream, asText), func(t *testing.T) {
					test(t, front, upstream, asText)
				})
			}
		}
	}
}

func kindOf(asText bool) string {
	if asText {
		return "application/grpc-web-text"
	}
	return "application/grpc-web+proto"
}

func TestUnary(t *testing.T) {
	matrix(t, func(t *testing.T, front, upstream string, asText bool) {
		url, client, web := stage(t, front, upstream, &service{}, "https://a.example")
		response := call(t, client, url, "Unary", "hello", asText, "X-Sent", "meta", "Origin", "https://a.example")
		equal(t, "status", response.StatusCode, 200)
		equal(t, "kind", response.Header.Get("Content-Type"), kindOf(asText))
		equal(t, "metadata", response.Header.Get("X-Head"), "meta")
		equal(t, "origin", []string{response.Header.Get(allowOrigin), response.Header.Get(allowCredentials)},
			[]string{"https://a.example", "true"})
		equal(t, "exposed", response.Header.Get(exposeHeaders), "Content-Type, Grpc-Message, Grpc-Status, Vary, X-Head")
		got := read(response, asText)
		text, _ := got.message(t)
		equal(t, "message", text, "echo hello")
		_, trailers := got.message(t)
		equal(t, "trailers", strings.TrimPrefix(trailers, "grpc-message: \r\n"),
			"grpc-status: 0\r\nx-trailer: end\r\nx-trailer: twice\r\n")
		got.end(t)
		equal(t, "real trailers", len(response.Trailer), 0)
		equal(t, "counts", web.Counts(), map[string]uint64{"calls": 1, "preflights": 0, "broken": 0})
	})
}

// TestTrailersOnly demands that the status of a call without a message is found where it was, and nowhere twice.
func TestTrailersOnly(t *testing.T) {
	matrix(t, func(t *testing.T, front, upstream string, asText bool) {
		url, client, web := stage(t, front, upstream, &service{})
		for method, want := range map[string]string{"Missing": "12", "Unary": "9"} {
			response := call(t, client, url, method, "fail", asText)
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			text := string(body)
			if asText {
				decoded, err := io.ReadAll(newDecoder(io.NopCloser(bytes.NewReader(body))))
				if err != nil {
					t.Fatal(err)
				}
				text = string(decoded)
			}
			head, frame := response.Header.Get("Grpc-Status"), strings.Contains(text, "grpc-status: "+want+"\r\n")
			if (head == want) == frame || head != "" && len(body) > 0 {
				t.Errorf("%s: the head says %q, the body %q", method, head, text)
			}
		}
		equal(t, "broken", web.Counts()["broken"], uint64(0))
	})
}

// TestStreaming demands that each message comes when it is sent.
func TestStreaming(t *testing.T) {
	matrix(t, func(t *testing.T, front, upstream string, asText bool) {
		s := &service{next: make(chan struct{})}
		url, client, _ := stage(t, front, upstream, s)
		got := read(call(t, client, url, "Many", "m", asText), asText)
		for i := range 3 {
			text, _ := got.message(t)
			equal(t, "message", text, fmt.Sprint("m", i))
			s.next <- struct{}{}
		}
		_, trailers := got.message(t)
		equal(t, "trailers", trailers, "grpc-message: enough\r\ngrpc-status: 8\r\n")
		got.end(t)
	})
}

func TestBigMessages(t *testing.T) {
	matrix(t, func(t *testing.T, front, upstream string, asText bool) {
		url, client, _ := stage(t, front, upstream, &service{})
		sizes := []int{0, 1, 2, 3, 3071, 3072, 3073, 100_000}
		if front == "h1" && upstream == "h2c" {
			sizes = append(sizes, 2_000_001)
		}
		for _, size := range sizes {
			sent := strings.Repeat("x", size)
			got := read(call(t, client, url, "Unary", sent, asText), asText)
			text, _ := got.message(t)
			equal(t, fmt.Sprint(size), text == "echo "+sent, true)
			_, trailers := got.message(t)
			equal(t, "status", strings.Contains(trailers, "grpc-status: 0\r\n"), true)
			got.end(t)
		}
	})
}

// TestDeadline checks that the service observes the deadline of a call. A gRPC server resets the stream then, which is
// answered UNAVAILABLE; one on net/http sends a status.
func TestDeadline(t *testing.T) {
	for _, upstream := range []string{"h2", "h2c"} {
		t.Run(upstream, func(t *testing.T) {
			for deadline := 20 * time.Millisecond; !observes(t, upstream, deadline); deadline *= 2 {
				t.Logf("the call did not reach the service within %v", deadline)
			}
		})
	}
}

// observes makes a call with a deadline. It reports false if the call did not reach the service in time.
func observes(t *testing.T, upstream string, deadline time.Duration) bool {
	t.Helper()
	s := &service{here: make(chan struct{}), gone: make(chan error, 1)}
	url, client, _ := stage(t, "h1", upstream, s)
	response := call(t, client, url, "Unary", "wait", false, "Grpc-Timeout", fmt.Sprintf("%dm", deadline.Milliseconds()))
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	says := response.Header.Get("Grpc-Status") == "4" || strings.Contains(string(body), "grpc-status: 4\r\n")
	if !says && (upstream == "h2" || response.Header.Get("Grpc-Status") != "14") {
		t.Errorf("%v, %q", response, body)
	}
	select {
	case <-s.here:
		equal(t, "ended", <-s.gone != nil, true)
		return true
	default:
		return false
	}
}

func TestClientLeaves(t *testing.T) {
	for _, front := range []string{"h1", "h2"} {
		t.Run(front, func(t *testing.T) {
			s := &service{here: make(chan struct{}), gone: make(chan error, 1)}
			url, client, _ := stage(t, front, "h2c", s)
			ctx, leave := context.WithCancel(t.Context())
			r := request(t, http.MethodPost, url+"/test.Echo/Unary", bytes.NewReader(frame(t, "wait"))).WithContext(ctx)
			r.Header.Set("Content-Type", webType)
			done := make(chan error, 1)
			go func() {
				response, err := client.Do(r)
				if err == nil {
					_ = response.Body.Close()
				}
				done <- err
			}()
			<-s.here
			leave()
			equal(t, "left", errors.Is(<-done, context.Canceled), true)
		})
	}
}

// TestTogether has many clients make calls at a time.
func TestTogether(t *testing.T) {
	url, client, web := stage(t, "h1", "h2c", &service{}, "*")
	var calling sync.WaitGroup
	for i := range 8 {
		calling.Go(func() {
			for n := range 20 {
				sent := fmt.Sprint(i, "-", n)
				got := read(call(t, client, url, "Unary", sent, n%2 == 0), n%2 == 0)
				text, _ := got.message(t)
				equal(t, "message", text, "echo "+sent)
			}
		})
	}
	calling.Wait()
	equal(t, "calls", web.Counts()["calls"], uint64(160))
}

// TestAnswersOfOthers demands that an answer which is not gRPC passes as it is, readable for the origin.
func TestAnswersOfOthers(t *testing.T) {
	web, err := New("web@file", dynamic.GrpcWeb{AllowOrigins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, asText := range []bool{false, true} {
		url, client, _ := rig.Serve(t, "h1", web.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Trailer", "X-End")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "Bad Gateway")
			w.Header().Set("X-End", "yes")
		})))
		response := call(t, client, url, "Unary", "x", asText, "Origin", "https://b.example")
		body, err := io.ReadAll(response.Body)
		equal(t, "answer", []any{
			response.StatusCode, string(body), err, response.Header.Get("Content-Type"),
			response.Header.Get(allowOrigin),
		},
			[]any{502, "Bad Gateway", nil, "text/plain", "https://b.example"})
		equal(t, "trailers", slices.Collect(maps.Values(response.Trailer)), [][]string{{"yes"}})
	}
}

// TestNoStatus checks that a truncated response is not taken for a complete one.
func TestNoStatus(t *testing.T) {
	web, err := New("web@file", dynamic.GrpcWeb{})
	if err != nil {
		t.Fatal(err)
	}
	url, client, _ := rig.Serve(t, "h1", web.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", nativeType)
		_, _ = w.Write(frame(t, "only"))
	})))
	got := read(call(t, client, url, "Unary", "x", true), true)
	text, _ := got.message(t)
	equal(t, "message", text, "only")
	_, trailers := got.message(t)
	equal(t, "trailers", trailers, "grpc-message: the server sent no status\r\ngrpc-status: 2\r\n")
	got.end(t)
	equal(t, "broken", web.Counts()["broken"], uint64(1))
}

// TestBadText demands that a call whose text is no base64 is refused.
func TestBadText(t *testing.T) {
	for _, front := range []string{"h1", "h2"} {
		for _, body := range []string{"????", "AAAAAAUK", "AAA"} {
			url, client, _ := stage(t, front, "h2c", &service{}, "*")
			r := request(t, http.MethodPost, url+"/test.Echo/Unary", strings.NewReader(body))
			r.Header.Set("Content-Type", textType)
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode == 200 && response.Header.Get("Grpc-Status") == "" {
				t.Errorf("%s %q: %v", front, body, response.Header)
			}
		}
	}
}
