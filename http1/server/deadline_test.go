package server_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// overtaken is a connection on which another goroutine is faster: the first of moves is made when a read deadline has
// been chosen, but not yet set.
type overtaken struct {
	net.Conn
	moves *atomic.Pointer[[]func()]
}

func (o overtaken) SetReadDeadline(deadline time.Time) error {
	if moves := o.moves.Swap(nil); moves != nil {
		(*moves)[0]()
		if rest := (*moves)[1:]; len(rest) > 0 {
			o.moves.Store(&rest)
		}
	}
	return o.Conn.SetReadDeadline(deadline)
}

// TestServerDeadlineOvertakesServer has a handler set a deadline while a Read sets one of the server's own.
func TestServerDeadlineOvertakesServer(t *testing.T) {
	t.Parallel()
	for name, tested := range map[string]*server.Server{
		// The deadline that the head has left behind is early once the response has begun, and in the way.
		"takes its own away": {ReadTimeout: time.Second},
		"sets its own":       {ReadTimeout: time.Hour, MinRate: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var moves atomic.Pointer[[]func()]
			read := make(chan error, 1)
			tested.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				control := http.NewResponseController(w)
				if tested.MinRate == 0 {
					_ = control.Flush()
				}
				moves.Store(&[]func(){
					func() { _ = control.SetReadDeadline(time.Now().Add(time.Hour)) },
					func() { _ = control.SetReadDeadline(time.Unix(1, 0)) },
				})
				_, err := r.Body.Read(make([]byte, 1))
				read <- err
			})
			g := newRig(t, tested, func(conn net.Conn) net.Conn { return overtaken{conn, &moves} })
			g.Open(post("Content-Length: 4"))
			if err := http1test.Receive(t, read, "the end of Read"); !errors.Is(err, os.ErrDeadlineExceeded) ||
				errors.Is(err, server.ErrTooSlow) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestServerReadFromBreaksOff copies from a file to a client that does not take it, and from a source that fails.
func TestServerReadFromBreaksOff(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	source := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		_, _ = conn.R.ReadByte()
		conn.Say("part")
		_ = conn.Conn.(*net.TCPConn).SetLinger(0)
	})
	for name, test := range map[string]struct {
		open func() (io.ReadWriteCloser, error)
		left bool
	}{
		"client": {func() (io.ReadWriteCloser, error) { return os.OpenFile(path, os.O_RDWR, 0) }, true},
		"source": {func() (io.ReadWriteCloser, error) {
			return (&net.Dialer{}).DialContext(t.Context(), "tcp", source.Address())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handled := make(chan struct{})
			g := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(handled)
				from, err := test.open()
				if err != nil {
					t.Error(err)
					return
				}
				defer http1test.Discard(from)
				if !test.left {
					_, _ = io.WriteString(from, "x")
				}
				w.Header().Set("Content-Length", strconv.Itoa(size))
				if test.left {
					_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
				}
				if n, err := io.Copy(w, from); err == nil {
					t.Errorf("copied %d bytes", n)
				}
				left := r.Context().Err() != nil
				_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
				_, err = w.Write([]byte("x"))
				if left != test.left || (err != nil) != test.left {
					t.Errorf("the context has ended: %v, Write: %v", left, err)
				}
			})
			g.Open(get)
			http1test.Receive(t, handled, "the handler")
		})
	}
}

// TestServerLateHeader calls Header while the handler returns, which must not be the header of the response.
func TestServerLateHeader(t *testing.T) {
	t.Parallel()
	late := make(chan struct{}, 100)
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		begun := make(chan struct{})
		go func() {
			close(begun)
			_ = w.Header()
			late <- struct{}{}
		}()
		<-begun
	})
	conn := g.Dial()
	for range cap(late) {
		say(t, conn, get)
	}
	for range cap(late) {
		http1test.Receive(t, late, "the late call")
	}
}
