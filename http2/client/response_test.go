package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
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
		"head alone":       {"GET", func(p *peer) { p.head(1, true, ":status: 200") }, answer{status: 200}},
		"other status":     {"GET", func(p *peer) { p.head(1, true, ":status: 999") }, answer{status: 999}},
		"unknown length":   {"GET", say(":status: 200", "x"), answer{status: 200, body: "x", length: -1}},
		"known length":     {"GET", say("content-length: 1", "x"), answer{status: 200, body: "x", length: 1}},
		"length twice":     {"GET", say("content-length: 1\ncontent-length: 1", "x"), answer{status: 200, body: "x", length: 1}},
		"length 0":         {"GET", say("content-length: 0", ""), answer{status: 200}},
		"too short":        {"GET", say("content-length: 2", "x"), answer{status: 200, err: fault(wire.ProtocolError), length: 2}},
		"too long":         {"GET", say("content-length: 1", "xx"), answer{status: 200, err: fault(wire.ProtocolError), length: 1}},
		"HEAD":             {"HEAD", func(p *peer) { p.head(1, true, ":status: 200", "content-length: 5") }, answer{status: 200, length: 5}},
		"HEAD, end apart":  {"HEAD", say("content-length: 5", ""), answer{status: 200, length: 5}},
		"HEAD with a body": {"HEAD", say("content-length: 5", "hello"), answer{status: 200, err: fault(wire.ProtocolError), length: 5}},
		"204":              {"GET", func(p *peer) { p.head(1, true, ":status: 204") }, answer{status: 204}},
		"304":              {"GET", func(p *peer) { p.head(1, true, ":status: 304", "content-length: 5") }, answer{status: 304}},
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
		"padding": {"GET", func(p *peer) {
			p.head(1, false, ":status: 200")
			p.must(p.WriteDataPadded(1, false, []byte("hel"), make([]byte, 200)))
			p.must(p.WriteDataPadded(1, true, []byte("lo"), make([]byte, 2)))
		}, answer{status: 200, body: "hello", length: -1}},
		"large":                      {"GET", large, answer{status: 200, body: strings.Repeat("0123456789", 100_000), length: -1}},
		"reset in the body":          {"GET", resetAfter(http2.ErrCodeInternal), answer{status: 200, body: "hel", length: -1, err: &client.ResetError{}}},
		"reset without error":        {"GET", resetAfter(http2.ErrCodeNo), answer{status: 200, body: "hel", length: -1, err: &client.ResetError{}}},
		"no status":                  {"GET", func(p *peer) { p.head(1, true, "x-a: b") }, answer{head: fault(wire.ProtocolError)}},
		"status twice":               {"GET", func(p *peer) { p.head(1, true, ":status: 200", ":status: 200") }, answer{head: fault(wire.ProtocolError)}},
		"status of letters":          {"GET", func(p *peer) { p.head(1, true, ":status: 2x0") }, answer{head: fault(wire.ProtocolError)}},
		"status 099":                 {"GET", func(p *peer) { p.head(1, true, ":status: 099") }, answer{head: fault(wire.ProtocolError)}},
		"late status":                {"GET", func(p *peer) { p.head(1, true, "x-a: b", ":status: 200") }, answer{head: fault(wire.ProtocolError)}},
		"unknown pseudo-header":      {"GET", func(p *peer) { p.head(1, true, ":status: 200", ":path: /") }, answer{head: fault(wire.ProtocolError)}},
		"upper case":                 {"GET", func(p *peer) { p.head(1, true, ":status: 200", "X-a: b") }, answer{head: fault(wire.ProtocolError)}},
		"control character":          {"GET", func(p *peer) { p.head(1, true, ":status: 200", "x-a: b\x00") }, answer{head: fault(wire.ProtocolError)}},
		"101":                        {"GET", func(p *peer) { p.head(1, false, ":status: 101") }, answer{head: fault(wire.ProtocolError)}},
		"informational at the end":   {"GET", func(p *peer) { p.head(1, true, ":status: 103") }, answer{head: fault(wire.ProtocolError)}},
		"lengths that differ":        {"GET", func(p *peer) { p.head(1, true, ":status: 200", "content-length: 1", "content-length: 2") }, answer{head: fault(wire.ProtocolError)}},
		"length that is no number":   {"GET", func(p *peer) { p.head(1, true, ":status: 200", "content-length: +1") }, answer{head: fault(wire.ProtocolError)}},
		"length without a body":      {"GET", func(p *peer) { p.head(1, true, ":status: 200", "content-length: 1") }, answer{status: 200, length: 1, err: fault(wire.ProtocolError)}},
		"DATA before the head":       {"GET", func(p *peer) { p.data(1, false, "x") }, answer{head: fault(wire.ProtocolError)}},
		"too many fields":            {"GET", func(p *peer) { p.head(1, true, append([]string{":status: 200"}, manyFields(1001)...)...) }, answer{head: fault(wire.ProtocolError)}},
		"WINDOW_UPDATE of 0":         {"GET", func(p *peer) { p.must(p.WriteWindowUpdate(1, 0)) }, answer{head: fault(wire.ProtocolError)}},
		"WINDOW_UPDATE beyond 2^31":  {"GET", func(p *peer) { p.must(p.WriteWindowUpdate(1, 1<<31-1)) }, answer{head: fault(wire.FlowControlError)}},
		"trailers without end":       {"GET", func(p *peer) { p.head(1, false, ":status: 200"); p.head(1, false, "x-a: b") }, answer{status: 200, length: -1, err: fault(wire.ProtocolError)}},
		"trailers with a status":     {"GET", func(p *peer) { p.head(1, false, ":status: 200"); p.head(1, true, ":status: 200") }, answer{status: 200, length: -1, err: fault(wire.ProtocolError)}},
		"informational after a head": {"GET", func(p *peer) { p.head(1, false, ":status: 200"); p.head(1, false, ":status: 103") }, answer{status: 200, length: -1, err: fault(wire.ProtocolError)}},
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
				if a.status != test.want.status || test.want.err == nil && a.body != test.want.body || a.length != test.want.length {
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

// TestFaultsOfConnections ends connections with the code of RFC 9113.
func TestFaultsOfConnections(t *testing.T) {
	raw := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) func(p *peer) {
		return func(p *peer) { _ = p.WriteRawFrame(kind, flags, stream, []byte(payload)) }
	}
	setting := func(id http2.SettingID, value uint32) func(p *peer) {
		return func(p *peer) { _ = p.WriteSettings(http2.Setting{ID: id, Val: value}) }
	}
	repeated := func(n int, f func(p *peer)) func(p *peer) {
		return func(p *peer) {
			for range n {
				f(p)
			}
		}
	}
	tests := map[string]struct {
		play func(p *peer)
		want http2.ErrCode
	}{
		"large frame":            {raw(http2.FrameData, 0, 1, strings.Repeat("x", 16385)), http2.ErrCodeFrameSize},
		"DATA on 0":              {raw(http2.FrameData, 0, 0, "x"), http2.ErrCodeProtocol},
		"DATA on an idle stream": {raw(http2.FrameData, 0, 3, "x"), http2.ErrCodeProtocol},
		"DATA without padding":   {raw(http2.FrameData, http2.FlagDataPadded, 1, ""), http2.ErrCodeFrameSize},
		"too much padding":       {raw(http2.FrameData, http2.FlagDataPadded, 1, "\x05abc"), http2.ErrCodeProtocol},
		"HEADERS on 2":           {raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 2, "\x88"), http2.ErrCodeProtocol},
		"HEADERS, padding":       {raw(http2.FrameHeaders, http2.FlagHeadersPadded, 1, "\x05"), http2.ErrCodeProtocol},
		"HEADERS, no priority":   {raw(http2.FrameHeaders, http2.FlagHeadersPriority, 1, "\x00"), http2.ErrCodeFrameSize},
		"HEADERS on itself":      {raw(http2.FrameHeaders, http2.FlagHeadersPriority, 1, "\x00\x00\x00\x01\x01\x88"), http2.ErrCodeProtocol},
		"HEADERS that break":     {raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\xff\xff\xff\xff\xff"), http2.ErrCodeCompression},
		"HEADERS cut off":        {raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\x00\x05ab"), http2.ErrCodeCompression},
		"frame within a head":    {func(p *peer) { raw(http2.FrameHeaders, 0, 1, "\x88")(p); raw(http2.FramePing, 0, 0, "12345678")(p) }, http2.ErrCodeProtocol},
		"CONTINUATION alone":     {raw(http2.FrameContinuation, 4, 1, "\x88"), http2.ErrCodeProtocol},
		"CONTINUATIONs": {func(p *peer) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(p)
			repeated(3000, raw(http2.FrameContinuation, 0, 1, ""))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"a head without end": {func(p *peer) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(p)
			repeated(100, raw(http2.FrameContinuation, 0, 1, strings.Repeat("\x82", 16000)))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"a huge field":           {raw(http2.FrameHeaders, 4, 1, "\x00\x01a\x7f\xff\xff\xff\x07"), http2.ErrCodeEnhanceYourCalm},
		"RST_STREAM on idle":     {raw(http2.FrameRSTStream, 0, 3, "\x00\x00\x00\x00"), http2.ErrCodeProtocol},
		"RST_STREAM, length":     {raw(http2.FrameRSTStream, 0, 1, "\x00"), http2.ErrCodeFrameSize},
		"RST_STREAMs":            {repeated(3000, raw(http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x00")), http2.ErrCodeEnhanceYourCalm},
		"SETTINGS on a stream":   {raw(http2.FrameSettings, 0, 1, ""), http2.ErrCodeProtocol},
		"SETTINGS, length":       {raw(http2.FrameSettings, 0, 0, "1"), http2.ErrCodeFrameSize},
		"SETTINGS":               {repeated(3000, raw(http2.FrameSettings, 0, 0, "")), http2.ErrCodeEnhanceYourCalm},
		"window setting":         {setting(http2.SettingInitialWindowSize, 1<<31), http2.ErrCodeFlowControl},
		"windows above":          {func(p *peer) { _ = p.WriteWindowUpdate(1, 1<<31-1-65535); setting(http2.SettingInitialWindowSize, 65536)(p) }, http2.ErrCodeFlowControl},
		"frame size setting":     {setting(http2.SettingMaxFrameSize, 1), http2.ErrCodeProtocol},
		"push":                   {raw(http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x88"), http2.ErrCodeProtocol},
		"PING on a stream":       {raw(http2.FramePing, 0, 1, "12345678"), http2.ErrCodeProtocol},
		"PING, length":           {raw(http2.FramePing, 0, 0, "1"), http2.ErrCodeFrameSize},
		"PINGs":                  {repeated(3000, raw(http2.FramePing, 0, 0, "12345678")), http2.ErrCodeEnhanceYourCalm},
		"WINDOW_UPDATE of 0":     {raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), http2.ErrCodeProtocol},
		"WINDOW_UPDATE, length":  {raw(http2.FrameWindowUpdate, 0, 0, "\x00"), http2.ErrCodeFrameSize},
		"WINDOW_UPDATE on idle":  {raw(http2.FrameWindowUpdate, 0, 3, "\x00\x00\x01\x00"), http2.ErrCodeProtocol},
		"WINDOW_UPDATE above":    {raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), http2.ErrCodeFlowControl},
		"WINDOW_UPDATEs":         {repeated(3000, raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x01")), http2.ErrCodeEnhanceYourCalm},
		"empty DATA":             {func(p *peer) { p.head(1, false, ":status: 200"); repeated(3000, raw(http2.FrameData, 0, 1, ""))(p) }, http2.ErrCodeEnhanceYourCalm},
		"heads of gone streams": {func(p *peer) {
			p.head(1, true, ":status: 200")
			repeated(3000, raw(http2.FrameHeaders, 5, 1, "\x88"))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"GOAWAY on a stream": {raw(http2.FrameGoAway, 0, 1, "\x00\x00\x00\x00\x00\x00\x00\x00"), http2.ErrCodeProtocol},
		"GOAWAY, length":     {raw(http2.FrameGoAway, 0, 0, "\x00"), http2.ErrCodeFrameSize},
		"unknown types":      {repeated(3000, raw(0x77, 0, 0, "")), http2.ErrCodeEnhanceYourCalm},
		"priorities":         {repeated(3000, raw(http2.FramePriority, 0, 1, "\x00\x00\x00\x00\x00")), http2.ErrCodeEnhanceYourCalm},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{})
				got := g.get("/")
				p := g.accept()
				p.request(1)
				ended := make(chan http2.ErrCode)
				go func() {
					p.SetMaxReadFrameSize(1 << 20)
					code, _ := p.away()
					ended <- code
				}()
				test.play(p)
				if code := <-ended; code != test.want {
					t.Errorf("got %v", code)
				}
				wait(t, got)
				synctest.Wait()
				g.idle()
				if n := g.upstream.Connections(); n != 0 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// TestBeginsWithSettings refuses an endpoint that begins otherwise.
func TestBeginsWithSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		got := g.get("/")
		conn := <-g.conns
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		if a := wait(t, got); a.head == nil {
			t.Errorf("got %d", a.status)
		}
		synctest.Wait()
		g.idle()
	})
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
		if diff := cmp.Diff(http.Header{"B": {"1", "3"}, "Te": {"x"}}, a.header); diff != "" || a.trip.Fields() != nil || !a.trip.HopByHop() {
			t.Error(diff)
		}
	})
}
