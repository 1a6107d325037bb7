package client_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/http2/wire"
)

// TestResponses reads responses of every kind.
func TestResponses(t *testing.T) {
	tests := map[string]struct {
		method string
		play   func(p *peer)
		want   answer
	}{
		"head alone":      {"GET", func(p *peer) { p.head(1, true, ":status: 200") }, answer{status: 200}},
		"other status":    {"GET", func(p *peer) { p.head(1, true, ":status: 999") }, answer{status: 999}},
		"unknown length":  {"GET", say(":status: 200", "x"), answer{status: 200, body: "x", length: -1}},
		"known length":    {"GET", say("content-length: 1", "x"), answer{status: 200, body: "x", length: 1}},
		"length 0":        {"GET", say("content-length: 0", ""), answer{status: 200}},
		"HEAD, end apart": {"HEAD", say("content-length: 5", ""), answer{status: 200, length: 5}},
		"204":             {"GET", func(p *peer) { p.head(1, true, ":status: 204") }, answer{status: 204}},
		"fields of a connection": {"GET", func(p *peer) {
			p.head(1, true, ":status: 200", "connection: close", "upgrade: x", "keep-alive: 1", "x-a:  b ", "te: x")
		}, answer{status: 200, header: http.Header{"X-A": {"b"}, "Te": {"x"}}}},
		"trailers": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200", "trailer: X-A, x-b, Content-Length")
			p.data(1, false, "hello")
			p.head(1, true, "x-a: 1", "x-c: 2", "content-length: 4")
		}, answer{status: 200, body: "hello", length: -1, trailer: http.Header{"X-A": {"1"}, "X-B": nil, "X-C": {"2"}}}},
		"trailers at once": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200")
			p.head(1, true, "grpc-status: 0")
		}, answer{status: 200, length: -1, trailer: http.Header{"Grpc-Status": {"0"}}}},
		"CONTINUATION": {"GET", func(p *peer) {
			block := bytes.Clone(p.fields(":status: 200", "x-a: b"))
			p.must(p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: block[:3], EndStream: true, PadLength: 9,
				Priority: http2.PriorityParam{StreamDep: 3},
			}))
			p.must(p.WriteContinuation(1, false, nil))
			p.must(p.WriteContinuation(1, true, block[3:]))
		}, answer{status: 200, header: http.Header{"X-A": {"b"}}}},
		"HEAD": {"HEAD", func(p *peer) {
			p.head(1, true, ":status: 200", "content-length: 5")
		}, answer{status: 200, length: 5}},
		"HEAD with a body": {
			"HEAD", say("content-length: 5", "hello"), answer{status: 200, err: fault(wire.ProtocolError), length: 5},
		},
		"304": {"GET", func(p *peer) {
			p.head(1, true, ":status: 304", "content-length: 5")
		}, answer{status: 304}},
		"length twice": {
			"GET", say("content-length: 1\ncontent-length: 1", "x"), answer{status: 200, body: "x", length: 1},
		},
		"too short": {
			"GET", say("content-length: 2", "x"), answer{status: 200, err: fault(wire.ProtocolError), length: 2},
		},
		"too long": {
			"GET", say("content-length: 1", "xx"), answer{status: 200, err: fault(wire.ProtocolError), length: 1},
		},
		"no body": {"GET", func(p *peer) {
			p.head(1, true, ":status: 200", "content-length: 1")
		}, answer{status: 200, length: 1, err: fault(wire.ProtocolError)}},
		"large": {"GET", large, answer{status: 200, body: strings.Repeat("0123456789", 100_000), length: -1}},
		"reset": {"GET", resetAfter(http2.ErrCodeInternal), answer{status: 200, length: -1, err: &client.ResetError{}}},
		"reset without error": {
			"GET", resetAfter(http2.ErrCodeNo), answer{status: 200, length: -1, err: &client.ResetError{}},
		},
		"trailers without end": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200")
			p.head(1, false, "x-a: b")
		}, answer{status: 200, length: -1, err: fault(wire.ProtocolError)}},
		"trailers with a status": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200")
			p.head(1, true, ":status: 200")
		}, answer{status: 200, length: -1, err: fault(wire.ProtocolError)}},
		"informational after a head": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200")
			p.head(1, false, ":status: 103")
		}, answer{status: 200, length: -1, err: fault(wire.ProtocolError)}},
		"padding": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200")
			p.must(p.WriteDataPadded(1, false, []byte("hel"), make([]byte, 200)))
			p.must(p.WriteDataPadded(1, true, []byte("lo"), make([]byte, 2)))
		}, answer{status: 200, body: "hello", length: -1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{})
				got := g.send(request(context.Background(), test.method+" /", nil))
				p := g.accept()
				p.request(1)
				synctest.Wait()
				if name != "large" {
					p.sink()
				}
				test.play(p)
				a := wait(t, got)
				if a.length == 0 && a.body == "" && test.want.length < 0 {
					a.length = -1 // The end had come already.
				}
				if a.status != test.want.status || a.length != test.want.length ||
					test.want.err == nil && a.body != test.want.body {
					t.Errorf("got %d %.40q, length %d, %v, %v", a.status, a.body, a.length, a.head, a.err)
				}
				if !same(a.head, test.want.head) || !same(a.err, test.want.err) {
					t.Errorf("got %v, %v", a.head, a.err)
				}
				if want := test.want.header; want != nil && cmp.Diff(want, a.header) != "" {
					t.Error(cmp.Diff(want, a.header))
				}
				if diff := cmp.Diff(test.want.trailer, a.trailer); diff != "" {
					t.Error(diff)
				}
				g.idle()
				// The connection goes on.
				if g.upstream.Connections() != 1 {
					t.Error("the connection has ended")
				}
			})
		})
	}
}

// say answers with fields, one a line, and a body with the end.
func say(fields, body string) func(p *peer) {
	return func(p *peer) {
		list := strings.Split(fields, "\n")
		if !strings.HasPrefix(fields, ":") {
			list = append([]string{":status: 200"}, list...)
		}
		p.head(1, false, list...)
		p.data(1, true, body)
	}
}

func resetAfter(code http2.ErrCode) func(p *peer) {
	return func(p *peer) {
		p.head(1, false, ":status: 200")
		p.data(1, false, "hel")
		p.must(p.WriteRSTStream(1, code))
	}
}

// large sends 1 MB as the windows admit.
func large(p *peer) {
	p.head(1, false, ":status: 200")
	left, window := 1_000_000, client.StreamWindow
	for left > 0 {
		n := min(left, window, 15_000)
		n -= n % 10
		if n == 0 {
			f := expect[*http2.WindowUpdateFrame](p)
			window += int(f.Increment)
			continue
		}
		p.data(1, n == left, strings.Repeat("0123456789", n/10))
		left -= n
		window -= n
	}
	p.sink()
}

// TestMalformedHeads resets streams whose response does not begin as it must.
func TestMalformedHeads(t *testing.T) {
	head := func(fields ...string) func(p *peer) { return func(p *peer) { p.head(1, true, fields...) } }
	tests := map[string]func(p *peer){
		"no status":                 head("x-a: b"),
		"status twice":              head(":status: 200", ":status: 200"),
		"status of letters":         head(":status: 2x0"),
		"status below 100":          head(":status: 099"),
		"late status":               head("x-a: b", ":status: 200"),
		"unknown pseudo-header":     head(":status: 200", ":path: /"),
		"upper case":                head(":status: 200", "X-a: b"),
		"control character":         head(":status: 200", "x-a: b\x00"),
		"too many fields":           head(append([]string{":status: 200"}, manyFields(1001)...)...),
		"lengths that differ":       head(":status: 200", "content-length: 1", "content-length: 2"),
		"length that is no number":  head(":status: 200", "content-length: +1"),
		"informational at the end":  head(":status: 103"),
		"101":                       func(p *peer) { p.head(1, false, ":status: 101") },
		"DATA first":                func(p *peer) { p.data(1, false, "x") },
		"WINDOW_UPDATE of 0":        func(p *peer) { p.must(p.WriteWindowUpdate(1, 0)) },
		"WINDOW_UPDATE beyond 2^31": func(p *peer) { p.must(p.WriteWindowUpdate(1, 1<<31-1)) },
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{})
				got := g.get("/")
				p := g.accept()
				p.request(1)
				play(p)
				want := http2.ErrCodeProtocol
				if name == "WINDOW_UPDATE beyond 2^31" {
					want = http2.ErrCodeFlowControl
				}
				p.reset(1, want)
				a := wait(t, got)
				if fault, ok := errors.AsType[*wire.Error](a.head); !ok || fault.Code != wire.Code(want) || !a.trip.Sent() {
					t.Errorf("got %d, %v", a.status, a.head)
				}
				g.idle()
			})
		})
	}
}

func manyFields(n int) (fields []string) {
	for range n {
		fields = append(fields, "a: b")
	}
	return fields
}

func fault(code wire.Code) error { return wire.StreamFault(1, code, "") }

// same compares the kinds of errors.
func same(got, want error) bool {
	if want == nil {
		return got == nil
	}
	if _, ok := want.(*client.ResetError); ok { //nolint:errorlint // the test's
		_, ok = errors.AsType[*client.ResetError](got)
		return ok
	}
	g, _ := errors.AsType[*wire.Error](got)
	w, _ := errors.AsType[*wire.Error](want)
	return g != nil && g.Code == w.Code
}

// TestList returns fields in a list, where that suffices.
func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		options := http1.Options{List: make([]http1wire.Field, 0, 5), Header: http.Header{}}
		got := g.sendWith(options, request(context.Background(), "GET /", nil))
		p := g.accept()
		p.request(1)
		p.head(1, true, ":status: 200", "b: 1", "connection: x", "a: 2", "b: 3")
		a := wait(t, got)
		want := []http1wire.Field{{Name: "B", Value: "1"}, {Name: "A", Value: "2"}, {Name: "B", Value: "3"}}
		if diff := cmp.Diff(want, a.trip.Fields()); diff != "" || a.header != nil || a.trip.HopByHop() {
			t.Error(diff, a.header)
		}
		got = g.sendWith(options, request(context.Background(), "GET /", nil))
		p.request(3)
		p.head(3, true, ":status: 200", "b: 1", "te: x", "b: 3")
		a = wait(t, got)
		diff := cmp.Diff(http.Header{"B": {"1", "3"}, "Te": {"x"}}, a.header)
		if diff != "" || a.trip.Fields() != nil || !a.trip.HopByHop() {
			t.Error(diff)
		}
	})
}
