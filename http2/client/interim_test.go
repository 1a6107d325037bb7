package client_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http2/client"
)

// TestInformational hands informational responses over before the head, in their order, and leaves the caller's header
// to its callback until that has returned.
func TestInformational(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		final := make(chan struct{})
		var seen []string
		header := http.Header{}
		options := http1.Options{Header: header}
		options.Informational = func(status int, hints http.Header) error {
			<-final
			if len(header) > 0 {
				t.Errorf("the header is in use: %v", header)
			}
			maps.Copy(header, hints)
			seen = append(seen, http.StatusText(status)+" "+header.Get("Link"))
			clear(header)
			return nil
		}
		got := g.sendWith(options, request(context.Background(), "GET /", nil))
		p := g.accept()
		p.request(1)
		p.head(1, false, ":status: 103", "link: a")
		p.head(1, false, ":status: 103", "link: b")
		p.head(1, false, ":status: 200", "link: c", "link: d", "x-a: b")
		p.must(p.WritePing(false, [8]byte{}))
		expect[*http2.PingFrame](p)
		close(final)
		p.data(1, true, "hello")
		a := wait(t, got)
		a.want(t, 200, "hello")
		if diff := cmp.Diff([]string{"Early Hints a", "Early Hints b"}, seen); diff != "" {
			t.Error(diff)
		}
		want := http.Header{"Link": {"c", "d"}, "X-A": {"b"}}
		if diff := cmp.Diff(want, header); diff != "" || cmp.Diff(want, a.header) != "" {
			t.Error(diff, a.header)
		}
		g.idle()
	})
}

// TestInformationalFails ends the exchange with the error of the callback.
func TestInformationalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		refused := errors.New("refused")
		options := http1.Options{Informational: func(int, http.Header) error { return refused }, Header: http.Header{}}
		got := g.sendWith(options, request(context.Background(), "GET /", nil))
		p := g.accept()
		p.request(1)
		p.head(1, false, ":status: 103")
		p.reset(1, http2.ErrCodeCancel)
		wait(t, got).fails(t, refused, true)
		g.idle()
	})
}

// TestInformationalWithoutEnd resets streams with too many informational responses, or too large ones.
func TestInformationalWithoutEnd(t *testing.T) {
	tests := map[string]struct {
		n     int
		value string
	}{
		"many":  {client.MaxInterims + 1, "x"},
		"large": {12, strings.Repeat("x", 9000)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{MaxHeaderBytes: 100_000})
				got := g.get("/")
				p := g.accept()
				p.request(1)
				for range test.n - 1 {
					p.head(1, false, ":status: 103", "x-a: "+test.value)
					synctest.Wait() // It is handed over.
				}
				p.head(1, false, ":status: 103", "x-a: "+test.value)
				p.reset(1, http2.ErrCodeProtocol)
				if a := wait(t, got); a.head == nil || !a.trip.Sent() {
					t.Errorf("got %d, %v", a.status, a.head)
				}
				g.idle()
			})
		})
	}
}
