package compress

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestTrailersSetBeforeTheBody has trailers, announced or not, that are there before the response is decided about.
func TestTrailersSetBeforeTheBody(t *testing.T) {
	for _, kind := range []string{"text/plain", "image/png", ""} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			w.Header().Set("Trailer", "X-Announced")
			w.WriteHeader(http.StatusAccepted)
			w.Header().Set("X-Announced", "yes")
			w.Header().Set(http.TrailerPrefix+"X-Late", "too")
			w.Header().Set("X-Too-Late", "no header any more")
			_, _ = w.Write(text(5000))
		})
		for name, serve := range servers() {
			response := serve(t, made(t, nil).Wrap(handler)).get(t, "gzip")
			if got := decoded(t, response); !bytes.Equal(got, text(5000)) ||
				(response.Header.Get("Content-Encoding") != "") != (kind != "image/png") {
				t.Errorf("%s %q: %d bytes, %v", name, kind, len(got), response.Header)
			}
			if got := response.Trailer; got.Get("X-Announced") != "yes" || got.Get("X-Late") != "too" ||
				response.Header.Get("X-Too-Late") != "" {
				t.Errorf("%s %q: head %v, trailers %v", name, kind, response.Header, got)
			}
		}
	}
}

// TestNoBody has a status that allows no body, of which no server has to hold the service to it.
func TestNoBody(t *testing.T) {
	w := new(recorded)
	made(t, nil).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusResetContent)
		_, _ = w.Write(text(5000))
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if w.Status != http.StatusResetContent || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("%d %v", w.Status, w.Header())
	}
}

func TestVaryByEverything(t *testing.T) {
	w := new(recorded)
	made(t, nil).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Vary", "*")
		_, _ = w.Write(text(5000))
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if got := w.Header()["Vary"]; !cmp.Equal(got, []string{"*"}) || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%v", w.Header())
	}
}

func TestContentLength(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   int64
	}{
		{nil, lengthUnknown},
		{[]string{""}, lengthUnknown},
		{[]string{"0"}, 0},
		{[]string{"0012"}, 12},
		{[]string{"999999999999999999"}, 999_999_999_999_999_999},
		{[]string{"18446744073709551617"}, lengthUnknown},
		{[]string{"1", "1"}, lengthUnknown},
		{[]string{"-1"}, lengthUnknown},
		{[]string{"1x"}, lengthUnknown},
	} {
		if got := contentLength(http.Header{"Content-Length": test.values}); got != test.want {
			t.Errorf("%q: %d, want %d", test.values, got, test.want)
		}
	}
}

// hijacked is a writer whose connection can be taken over at any time.
type hijacked struct{ recorded }

// Hijack gives nothing.
func (*hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, nil }

// TestHijackOnTheWay takes the connection over when the response has begun. What was written before goes ahead, unless
// an encoder has it, which others use then.
func TestHijackOnTheWay(t *testing.T) {
	for _, size := range []int{0, 10, 5000} {
		c, w := made(t, nil), new(hijacked)
		room := c.room.left.Load()
		c.Wrap(http.HandlerFunc(func(own http.ResponseWriter, _ *http.Request) {
			own.Header().Set("Content-Type", "text/plain")
			own.WriteHeader(http.StatusAccepted)
			_, _ = own.Write(text(size))
			if _, _, err := http.NewResponseController(own).Hijack(); err != nil {
				t.Error(err)
			}
			if size < 1024 && (w.Status != http.StatusAccepted || !bytes.Equal(w.body.Bytes(), text(size))) {
				t.Errorf("%d bytes: %d, %d bytes were sent", size, w.Status, w.body.Len())
			}
			sent := w.body.Len()
			_, _ = io.WriteString(own, "after")
			if w.body.Len() != sent+len("after") {
				t.Errorf("%d bytes: what follows is kept", size)
			}
		})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
		if left := c.room.left.Load(); left != room {
			t.Errorf("%d bytes: room for %d bytes is lost", size, room-left)
		}
	}
}
