package client_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http2/client"
)

// TestFaultsOfConnections ends connections with the code of RFC 9113.
func TestFaultsOfConnections(t *testing.T) {
	for name, test := range faults() {
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
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for {
				select {
				case conn := <-g.conns: // A request that comes after the end of a connection gets another one.
					go func() { _, _ = io.Copy(io.Discard, conn) }()
					_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
				case <-stop:
					return
				}
			}
		}()
		if a := wait(t, got); a.head == nil {
			t.Errorf("got %d", a.status)
		}
		synctest.Wait()
		g.idle()
	})
}

// connectionFault is what an endpoint must not send.
type connectionFault struct {
	play func(p *peer)
	want http2.ErrCode
}

func faults() map[string]connectionFault {
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
	return map[string]connectionFault{
		"large frame":            {raw(http2.FrameData, 0, 1, strings.Repeat("x", 16385)), http2.ErrCodeFrameSize},
		"DATA on 0":              {raw(http2.FrameData, 0, 0, "x"), http2.ErrCodeProtocol},
		"DATA on an idle stream": {raw(http2.FrameData, 0, 3, "x"), http2.ErrCodeProtocol},
		"DATA without padding": {
			raw(http2.FrameData, http2.FlagDataPadded, 1, ""), http2.ErrCodeFrameSize,
		},
		"too much padding": {raw(http2.FrameData, http2.FlagDataPadded, 1, "\x05abc"), http2.ErrCodeProtocol},
		"HEADERS on 2":     {raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 2, "\x88"), http2.ErrCodeProtocol},
		"HEADERS, padding": {raw(http2.FrameHeaders, http2.FlagHeadersPadded, 1, "\x05"), http2.ErrCodeProtocol},
		"HEADERS, no priority": {
			raw(http2.FrameHeaders, http2.FlagHeadersPriority, 1, "\x00"), http2.ErrCodeFrameSize,
		},
		"HEADERS on itself": {
			raw(http2.FrameHeaders, http2.FlagHeadersPriority, 1, "\x00\x00\x00\x01\x01\x88"), http2.ErrCodeProtocol,
		},
		"HEADERS that break": {
			raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\xff\xff\xff\xff\xff"), http2.ErrCodeCompression,
		},
		"HEADERS cut off": {raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\x00\x05ab"), http2.ErrCodeCompression},
		"frame within a head": {func(p *peer) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(p)
			raw(http2.FramePing, 0, 0, "12345678")(p)
		}, http2.ErrCodeProtocol},
		"CONTINUATION alone": {raw(http2.FrameContinuation, 4, 1, "\x88"), http2.ErrCodeProtocol},
		"CONTINUATIONs": {func(p *peer) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(p)
			repeated(3000, raw(http2.FrameContinuation, 0, 1, ""))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"a head without end": {func(p *peer) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(p)
			repeated(100, raw(http2.FrameContinuation, 0, 1, strings.Repeat("\x82", 16000)))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"a huge field":       {raw(http2.FrameHeaders, 4, 1, "\x00\x01a\x7f\xff\xff\xff\x07"), http2.ErrCodeEnhanceYourCalm},
		"RST_STREAM on idle": {raw(http2.FrameRSTStream, 0, 3, "\x00\x00\x00\x00"), http2.ErrCodeProtocol},
		"RST_STREAM, length": {raw(http2.FrameRSTStream, 0, 1, "\x00"), http2.ErrCodeFrameSize},
		"RST_STREAMs": {
			repeated(3000, raw(http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x00")), http2.ErrCodeEnhanceYourCalm,
		},
		"SETTINGS on a stream": {raw(http2.FrameSettings, 0, 1, ""), http2.ErrCodeProtocol},
		"SETTINGS, length":     {raw(http2.FrameSettings, 0, 0, "1"), http2.ErrCodeFrameSize},
		"SETTINGS":             {repeated(3000, raw(http2.FrameSettings, 0, 0, "")), http2.ErrCodeEnhanceYourCalm},
		"window setting":       {setting(http2.SettingInitialWindowSize, 1<<31), http2.ErrCodeFlowControl},
		"windows above": {func(p *peer) {
			_ = p.WriteWindowUpdate(1, 1<<31-1-65535)
			setting(http2.SettingInitialWindowSize, 65536)(p)
		}, http2.ErrCodeFlowControl},
		"frame size setting": {setting(http2.SettingMaxFrameSize, 1), http2.ErrCodeProtocol},
		"push": {
			raw(http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x88"), http2.ErrCodeProtocol,
		},
		"PING on a stream": {raw(http2.FramePing, 0, 1, "12345678"), http2.ErrCodeProtocol},
		"PING, length":     {raw(http2.FramePing, 0, 0, "1"), http2.ErrCodeFrameSize},
		"PINGs": {
			repeated(3000, raw(http2.FramePing, 0, 0, "12345678")), http2.ErrCodeEnhanceYourCalm,
		},
		"WINDOW_UPDATE of 0":    {raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), http2.ErrCodeProtocol},
		"WINDOW_UPDATE, length": {raw(http2.FrameWindowUpdate, 0, 0, "\x00"), http2.ErrCodeFrameSize},
		"WINDOW_UPDATE on idle": {raw(http2.FrameWindowUpdate, 0, 3, "\x00\x00\x01\x00"), http2.ErrCodeProtocol},
		"WINDOW_UPDATE above":   {raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), http2.ErrCodeFlowControl},
		"WINDOW_UPDATEs": {
			repeated(3000, raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x01")), http2.ErrCodeEnhanceYourCalm,
		},
		"empty DATA": {func(p *peer) {
			p.head(1, false, ":status: 200")
			repeated(3000, raw(http2.FrameData, 0, 1, ""))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"heads of gone streams": {func(p *peer) {
			p.head(1, true, ":status: 200")
			repeated(3000, raw(http2.FrameHeaders, 5, 1, "\x88"))(p)
		}, http2.ErrCodeEnhanceYourCalm},
		"GOAWAY on a stream": {
			raw(http2.FrameGoAway, 0, 1, "\x00\x00\x00\x00\x00\x00\x00\x00"), http2.ErrCodeProtocol,
		},
		"GOAWAY, length": {raw(http2.FrameGoAway, 0, 0, "\x00"), http2.ErrCodeFrameSize},
		"unknown types":  {repeated(3000, raw(0x77, 0, 0, "")), http2.ErrCodeEnhanceYourCalm},
		"priorities": {
			repeated(3000, raw(http2.FramePriority, 0, 1, "\x00\x00\x00\x00\x00")), http2.ErrCodeEnhanceYourCalm,
		},
	}
}
