package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// TestServerCloseEndsHandlers closes the server while a handler waits for nothing but the end of its context.
func TestServerCloseEndsHandlers(t *testing.T) {
	t.Parallel()
	running, ended := make(chan struct{}), make(chan error, 1)
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(running)
		<-r.Context().Done()
		ended <- r.Context().Err()
	})
	g.Open(get)
	http1test.Receive(t, running, "the request")
	_ = g.server.Close()
	if err := http1test.Receive(t, ended, "the end of the handler"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestServerRefused(t *testing.T) {
	t.Parallel()
	reasons := make(chan *wire.Error, 1)
	g := newRig(t, &server.Server{Handler: http.HandlerFunc(hello), Refused: func(_ net.Conn, reason *wire.Error) {
		reasons <- reason
	}}, nil)
	got := g.Raw("GET / HTTP/1.1\r\n\r\n" + get)
	if !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\r\n") || strings.Count(got, "HTTP/1.1") != 1 ||
		!strings.Contains(got, "Connection: close\r\n") {
		t.Errorf("got %q", got)
	}
	if reason := http1test.Receive(t, reasons, "the reason"); reason != wire.ErrNoHost {
		t.Errorf("reason %v", reason)
	}
}

// before gives bytes that were read before.
type before struct {
	*net.TCPConn
	ahead []byte
}

func (b before) ReadAhead() []byte { return b.ahead }

func TestServerReadsAheadFirst(t *testing.T) {
	t.Parallel()
	g := newRig(t, &server.Server{Handler: http.HandlerFunc(echo)}, func(conn net.Conn) net.Conn {
		return before{conn.(*net.TCPConn), []byte("POST /first HTTP/1.1\r\nHost: a\r\nConte")}
	})
	conn, reader := g.Open("nt-Length: 2\r\n\r\nab")
	if _, body := answer(t, reader); body != `POST /first a "ab" <nil>` {
		t.Errorf("got %q", body)
	}
	say(t, conn, get)
	if _, body := answer(t, reader); body != `GET / a "" <nil>` {
		t.Errorf("got %q", body)
	}
}

// TestCloseAfterOutranksKeepAlive ends the connection after a response whose handler announces the contrary.
func TestCloseAfterOutranksKeepAlive(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.(interface{ CloseAfter() }).CloseAfter()
		w.Header().Set("Connection", "keep-alive")
	})
	got := g.Raw(get + get)
	if strings.Count(got, "HTTP/1.1") != 1 || strings.Count(got, "Connection:") != 1 ||
		!strings.Contains(got, "Connection: close\r\n") {
		t.Errorf("got %q", got)
	}
}
