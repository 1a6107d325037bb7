package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/httpio"
)

// TestSwitchingProtocols hands the connection over, with what came together with the head.
func TestSwitchingProtocols(t *testing.T) {
	ended := make(chan string, 1)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		conn.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nwelcome")
		rest, _ := io.ReadAll(conn.R)
		conn.Say(string(rest))
		ended <- string(rest)
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	r := testRequest(t, "GET", endpoint.Address(), nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	response, err := upstream.RoundTrip(r)
	if err != nil || response.StatusCode != 101 || response.Header.Get("Upgrade") != "echo" {
		t.Fatalf("%+v, %v", response, err)
	}
	duplex, ok := response.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatal("the body can't be written to")
	}
	if _, err := duplex.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	var first [3]byte
	if _, err := io.ReadFull(duplex, first[:]); err != nil {
		t.Fatal(err)
	}
	if err := httpio.CloseWrite(duplex); err != nil {
		t.Fatal(err)
	}
	var rest bytes.Buffer
	if _, err := io.Copy(&rest, duplex); err != nil || string(first[:])+rest.String() != "welcomehello" {
		t.Errorf("%q, %v", rest.String(), err)
	}
	if got := http1test.Receive(t, ended, "what was sent"); got != "hello" {
		t.Errorf("the endpoint got %q", got)
	}
	_ = duplex.Close()
	if upstream.Idle() != 0 {
		t.Error("the connection was kept")
	}
}

// TestSwitchEndsWithTheContext as every exchange does.
func TestSwitchEndsWithTheContext(t *testing.T) {
	ended := make(chan struct{})
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		conn.Say("HTTP/1.1 101 Switching Protocols\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn.R)
		close(ended)
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := testRequest(t, "GET", endpoint.Address(), nil).WithContext(ctx)
	r.Header.Set("Upgrade", "echo")
	response, err := testUpstream(t, endpoint.Address(), nil).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(response.Body)
	cancel()
	http1test.Receive(t, ended, "the end of the connection")
}

// TestSwitchBeforeTheRequest would make the rest of the body bytes of the other protocol.
func TestSwitchBeforeTheRequest(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		conn.Say("HTTP/1.1 101 Switching Protocols\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn.R)
	})
	body := &blocked{first: strings.NewReader("begin"), release: make(chan struct{})}
	r := testRequest(t, "GET", endpoint.Address(), body)
	r.Header.Set("Upgrade", "echo")
	call := client.RoundTrip{Options: client.Options{Interrupt: func() bool { close(body.release); return true }}}
	_, err := testUpstream(t, endpoint.Address(), nil).Do(&call, r)
	if !errors.Is(err, client.ErrSwitchEarly) {
		t.Errorf("the error is %v", err)
	}
}

// tcpPair returns both ends of a connection.
func tcpPair(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(listener)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = other.Close() })
	return conn.(*net.TCPConn), other.(*net.TCPConn)
}

// spliced notes what its ReadFrom is given.
type spliced struct {
	*net.TCPConn
	from *net.TCPConn
}

func (s *spliced) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		s.from, _ = limited.R.(*net.TCPConn)
	}
	return s.TCPConn.ReadFrom(r)
}

// TestWriteTo copies bodies to a TCP connection: what was read ahead first, and the rest within the kernel.
func TestWriteTo(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 64<<10)
	chunked := "Transfer-Encoding: chunked\r\n\r\n"
	tests := map[string]struct {
		bytes, want string
		splices     bool
		cut         bool
	}{
		"large":       {"Content-Length: " + strconv.Itoa(len(large)) + "\r\n\r\n" + large, large, true, false},
		"large, cut":  {"Content-Length: " + strconv.Itoa(len(large)+1) + "\r\n\r\n" + large, large, true, true},
		"small":       {"Content-Length: 5\r\n\r\nhello", "hello", false, false},
		"medium":      {"Content-Length: 65536\r\n\r\n" + large[:65536], large[:65536], false, false},
		"chunks":      {chunked + "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", "helloworld", false, false},
		"cut":         {chunked + "5\r\nhello\r\n", "hello", false, true},
		"until close": {"\r\n" + large, large, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				for conn.Head() != "" {
					conn.Say("HTTP/1.1 200 OK\r\n" + test.bytes)
					if test.cut || name == "until close" {
						return
					}
				}
			})
			upstream := testUpstream(t, endpoint.Address(), nil)
			for range 2 {
				near, far := tcpPair(t)
				got := make(chan string, 1)
				go func() {
					text, _ := io.ReadAll(far)
					got <- string(text)
				}()
				response, err := upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))
				if err != nil {
					t.Fatal(err)
				}
				w := &spliced{TCPConn: near}
				n, err := io.Copy(w, response.Body)
				_ = near.Close()
				text := http1test.Receive(t, got, "the copy")
				if text != test.want || n != int64(len(text)) || (err != nil) != test.cut {
					t.Errorf("%d bytes, want %d; counted %d, %v", len(text), len(test.want), n, err)
				}
				if test.splices && w.from == nil {
					t.Error("it was not spliced")
				}
				if test.cut && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("the error is %v", err)
				}
				_ = response.Body.Close()
			}
			if kept := endpoint.Accepted() == 1; kept == (test.cut || name == "until close") {
				t.Errorf("%d connections", endpoint.Accepted())
			}
		})
	}
}

// TestWriteToClosed distinguishes the destination's errors from the endpoint's.
func TestWriteToClosed(t *testing.T) {
	large := strings.Repeat("x", 16<<20)
	endpoint := http1test.NewEndpoint(t,
		http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(large))+"\r\n\r\n"+large))
	for name, hide := range map[string]bool{"within the kernel": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			upstream := testUpstream(t, endpoint.Address(), nil)
			response, err := upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))
			if err != nil {
				t.Fatal(err)
			}
			defer http1test.Discard(response.Body)
			near, far := tcpPair(t)
			_ = far.SetLinger(0)
			_ = far.Close()
			var w io.Writer = near
			if hide {
				w = struct{ io.Writer }{near}
			}
			_, err = io.Copy(w, response.Body)
			if _, ok := errors.AsType[*client.DestinationError](err); !ok {
				t.Errorf("the error is %v", err)
			}
			if upstream.Idle() != 0 {
				t.Error("the connection was kept")
			}
		})
	}
}
