package entrypoint_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/telemetry"
)

// piped is a listener for connections in memory.
type piped struct {
	conns chan net.Conn
	ended chan struct{}
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	return nil
}

func (p *piped) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

// TestKeepAliveEndsInTurn hands over with kept connections, of which a hundred end with their next response in a tenth
// of a second, or more where they have not got the time.
func TestKeepAliveEndsInTurn(t *testing.T) {
	for name, test := range map[string]struct {
		connections int
		drain       time.Duration
		want        []int
	}{
		"few":     {100, time.Minute, []int{100}},
		"many":    {350, time.Minute, []int{100, 100, 100, 50}},
		"hurry":   {1000, time.Second, []int{200, 200, 200, 200, 200}},
		"at once": {1000, time.Millisecond, []int{1000}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, leave, served := servePiped(t)
				kept := make([]net.Conn, test.connections)
				for i := range kept {
					var server net.Conn
					kept[i], server = net.Pipe()
					listener.conns <- server
					if ends := ask(t, kept[i]); ends {
						t.Fatal("a connection ends before the hand-over")
					}
				}
				leave(entrypoint.HandedOver{Drain: test.drain})
				for round, want := range test.want {
					synctest.Wait()
					var still []net.Conn
					for _, conn := range kept {
						if ask(t, conn) {
							_ = conn.Close()
						} else {
							still = append(still, conn)
						}
					}
					if ended := len(kept) - len(still); ended != want {
						t.Errorf("round %d: %d connections end, want %d", round, ended, want)
					}
					kept = still
					time.Sleep(100 * time.Millisecond) //nolint:forbidigo // in a bubble
				}
				for _, conn := range kept {
					_ = conn.Close()
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// servePiped serves a listener for connections in memory until leave is called, and sends the error of Serve.
func servePiped(t *testing.T) (listener *piped, leave context.CancelCauseFunc, served <-chan error) {
	t.Helper()
	listener = &piped{conns: make(chan net.Conn), ended: make(chan struct{})}
	e, err := entrypoint.New("web", newConfig(), http.HandlerFunc(hello), nil, entrypoint.Dependencies{
		Logger: telemetry.Discard{},
		Listen: func(context.Context, string, string) (net.Listener, error) { return listener, nil },
	})
	if err == nil {
		err = e.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx) }()
	return listener, leave, ended
}

// TestGoAwayComesInTurn hands over with idle connections of HTTP/2, whose clients get GOAWAY when keep-alive has ended,
// a hundred in a tenth of a second, or more where they have not got the time.
func TestGoAwayComesInTurn(t *testing.T) {
	const tenth = 100 * time.Millisecond
	for name, test := range map[string]struct {
		connections int
		drain       time.Duration
		// first is when the first ones come.
		first time.Duration
		want  []int
	}{
		"few":     {100, time.Minute, 0, []int{100}},
		"many":    {350, time.Minute, 3 * tenth, []int{100, 100, 100, 50}},
		"hurry":   {600, 1200 * time.Millisecond, 5 * tenth, []int{200, 200, 200}},
		"at once": {300, time.Millisecond, 0, []int{300}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, leave, served := servePiped(t)
				came := make(chan time.Time, test.connections)
				for range test.connections {
					client, server := net.Pipe()
					listener.conns <- server
					go func() { came <- awaitGoAway(t, client) }()
				}
				synctest.Wait()
				begin := time.Now()
				leave(entrypoint.HandedOver{Drain: test.drain})
				got := map[time.Duration]int{}
				for range test.connections {
					got[(<-came).Sub(begin)]++
				}
				want := map[time.Duration]int{}
				for i, n := range test.want {
					want[test.first+time.Duration(i)*tenth] = n
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// awaitGoAway begins a connection of HTTP/2, and returns when the first GOAWAY has come. It reads until the connection
// ends.
func awaitGoAway(t *testing.T, conn net.Conn) (came time.Time) {
	t.Helper()
	defer conn.Close() //nolint:errcheck // a test's
	framer := http2.NewFramer(conn, conn)
	go func() {
		_, _ = io.WriteString(conn, http2.ClientPreface)
		_ = framer.WriteSettings()
	}()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return came
		}
		if _, ok := frame.(*http2.GoAwayFrame); ok && came.IsZero() {
			came = time.Now()
		}
	}
}

// ask sends a request, and reports whether its response ends the connection.
func ask(t *testing.T, conn net.Conn) bool {
	t.Helper()
	go func() { _, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.Close
}
