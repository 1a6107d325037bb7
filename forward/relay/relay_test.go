package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/httpio"
)

// combinations of TLS.
var combinations = map[string]setup{
	"plain":          {},
	"TLS client":     {clientTLS: true},
	"TLS server":     {serverTLS: true},
	"TLS both sides": {clientTLS: true, serverTLS: true},
}

// TestHalfClose answers only after the end of what the other side sends, as nc does.
func TestHalfClose(t *testing.T) {
	for name, s := range combinations {
		s.options = forEver()
		t.Run(name+", client", func(t *testing.T) {
			g := newRig(t, s)
			write(t, g.client, "question")
			closeWrite(t, g.client)
			expectEnd(t, g.server, "question")
			write(t, g.server, "answer")
			expect(t, g.client, "answer")
			write(t, g.server, "s")
			closeWrite(t, g.server)
			expectEnd(t, g.client, "s")
			result := g.ends(t, relay.ClientEOF, relay.ServerEOF)
			if result.FromClient != 8 || result.FromServer != 7 || result.Duration <= 0 {
				t.Errorf("%+v", result)
			}
		})
		t.Run(name+", server", func(t *testing.T) {
			g := newRig(t, s)
			write(t, g.server, "220 ready")
			closeWrite(t, g.server)
			expectEnd(t, g.client, "220 ready")
			write(t, g.client, "ok")
			closeWrite(t, g.client)
			expectEnd(t, g.server, "ok")
			g.ends(t, relay.ServerEOF, relay.ClientEOF)
		})
	}
}

// TestReset is passed on as a reset, at every stage.
func TestReset(t *testing.T) {
	for name, s := range combinations {
		s.options = forEver()
		t.Run(name+", client", func(t *testing.T) {
			g := newRig(t, s)
			write(t, g.client, "a")
			expect(t, g.server, "a")
			reset(t, g.client)
			expectReset(t, g.server)
			g.ends(t, relay.ClientReset, relay.ClientReset)
		})
		t.Run(name+", server", func(t *testing.T) {
			g := newRig(t, s)
			write(t, g.server, "a")
			expect(t, g.client, "a")
			reset(t, g.server)
			expectReset(t, g.client)
			g.ends(t, relay.ServerReset, relay.ServerReset)
		})
		t.Run(name+", client after its end", func(t *testing.T) {
			g := newRig(t, s)
			write(t, g.client, "question")
			closeWrite(t, g.client)
			expectEnd(t, g.server, "question")
			reset(t, g.client)
			g.ends(t, relay.ClientEOF, relay.ClientReset)
			if _, err := g.server.Write(make([]byte, 1)); err == nil {
				_, err = g.server.Write(make([]byte, 1<<20))
				if err == nil {
					t.Error("the server can write")
				}
			}
		})
		t.Run(name+", server after its end", func(t *testing.T) {
			g := newRig(t, s)
			write(t, g.server, "bye")
			closeWrite(t, g.server)
			expectEnd(t, g.client, "bye")
			reset(t, g.server)
			g.ends(t, relay.ServerEOF, relay.ServerReset)
		})
	}
}

// TestResetWhileWriting resets a client to which the server sends all the time, so that reads and writes of the relay
// compete for the error of the socket.
func TestResetWhileWriting(t *testing.T) {
	for range 50 {
		g := newRig(t, setup{options: forEver()})
		sent := make(chan error, 1)
		go func() {
			_, err := io.Copy(g.server, endless{})
			sent <- err
		}()
		if _, err := io.CopyN(io.Discard, g.client, 1<<20); err != nil {
			t.Fatal(err)
		}
		reset(t, g.client)
		if err := <-sent; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the server's write: %v", err)
		}
		// The write may have reported the reset; then reads see the end.
		if _, err := io.Copy(io.Discard, g.server); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server's read: %v", err)
		}
		g.ends(t, relay.ClientReset, relay.ClientReset)
	}
}

// endless are bytes without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestWriteErrorResets resets the client if bytes of it are lost because the server has closed.
func TestWriteErrorResets(t *testing.T) {
	g := newRig(t, setup{options: forEver(), smallBuffers: true})
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(g.client, endless{})
		sent <- err
	}()
	if _, err := io.CopyN(io.Discard, g.server, 1<<20); err != nil {
		t.Fatal(err)
	}
	_ = g.server.Close() // Bytes are unread, so the kernel resets.
	if err := <-sent; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the client's write: %v", err)
	}
	// If all had been read at that moment, the end came before the reset.
	if result := g.result(t); result.Final != relay.ServerReset {
		t.Errorf("%+v", result)
	}
}

// TestTruncatedTLSIsNoEnd: the TCP connection ends within a record.
func TestTruncatedTLSIsNoEnd(t *testing.T) {
	g := newRig(t, setup{options: forEver(), clientTLS: true})
	write(t, g.client, "a")
	expect(t, g.server, "a")
	below := httpio.Bottom(g.client).(*net.TCPConn)
	write(t, below, "\x17\x03\x03\x00\x20half a record")
	_ = below.CloseWrite()
	expectReset(t, g.server)
	if result := g.ends(t, relay.Error, relay.Error); !errors.Is(result.Err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", result.Err)
	}
}

// aheadConn has read ahead.
type aheadConn struct {
	*net.TCPConn
	ahead []byte
}

func (c *aheadConn) ReadAhead() []byte {
	ahead := c.ahead
	c.ahead = nil
	return ahead
}

func (c *aheadConn) SpliceTo() *net.TCPConn { return c.TCPConn }

func (c *aheadConn) SpliceFrom() *net.TCPConn {
	if c.ahead != nil {
		return nil
	}
	return c.TCPConn
}

func TestReadAheadComesFirst(t *testing.T) {
	s := setup{options: forEver(), aroundClient: func(c net.Conn) io.ReadWriteCloser {
		return &aheadConn{c.(*net.TCPConn), []byte("second ")}
	}}
	s.options.ReadAhead = []byte("first ")
	g := newRig(t, s)
	expect(t, g.server, "first second ")
	write(t, g.client, strings.Repeat("third", 1<<20))
	closeWrite(t, g.client)
	expectEnd(t, g.server, strings.Repeat("third", 1<<20))
	_ = g.server.Close()
	if result := g.ends(t, relay.ClientEOF, relay.ServerEOF); result.FromClient != 13+5<<20 {
		t.Errorf("%+v", result)
	}
}

func TestTerminationDelay(t *testing.T) {
	for name, s := range combinations {
		t.Run(name, func(t *testing.T) {
			for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
				s.options = relay.Options{TerminationDelay: delay}
				g := newRig(t, s)
				write(t, g.client, "question")
				expect(t, g.server, "question")
				begin := time.Now()
				closeWrite(t, g.client)
				expectEnd(t, g.server, "")
				expectEnd(t, g.client, "")
				result := g.ends(t, relay.ClientEOF, relay.TerminationDelay)
				if took := time.Since(begin); took < delay {
					t.Errorf("%v: cut after %v: %+v", delay, took, result)
				}
			}
		})
	}
}

// TestTerminationDelayIsNotProlonged by bytes, and one that is long enough cuts nothing.
func TestTerminationDelayIsNotProlonged(t *testing.T) {
	g := newRig(t, setup{options: relay.Options{TerminationDelay: 20 * time.Millisecond}})
	closeWrite(t, g.client)
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(g.server, endless{})
		sent <- err
	}()
	_, _ = io.Copy(io.Discard, g.client)
	if <-sent == nil {
		t.Error("the server could write all")
	}
	g.ends(t, relay.ClientEOF, relay.TerminationDelay)

	g = newRig(t, setup{options: relay.Options{TerminationDelay: eventTimeout}})
	closeWrite(t, g.client)
	expectEnd(t, g.server, "")
	write(t, g.server, "answer")
	closeWrite(t, g.server)
	expectEnd(t, g.client, "answer")
	g.ends(t, relay.ClientEOF, relay.ServerEOF)
}

func TestIdleTimeout(t *testing.T) {
	for name, s := range combinations {
		t.Run(name, func(t *testing.T) {
			s.options = relay.Options{TerminationDelay: -1, IdleTimeout: 50 * time.Millisecond}
			g := newRig(t, s)
			expectEnd(t, g.client, "")
			expectEnd(t, g.server, "")
			if result := g.ends(t, relay.IdleTimeout, relay.IdleTimeout); result.Duration < 50*time.Millisecond {
				t.Errorf("idle after %v", result.Duration)
			}
		})
	}
}

// TestLostBytesReset: the client gets no clean end if the relay holds bytes for it.
func TestLostBytesReset(t *testing.T) {
	s := setup{options: forEver()}
	s.options.IdleTimeout = 300 * time.Millisecond
	g := newRig(t, s)
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(g.server, endless{})
		sent <- err
	}()
	g.ends(t, relay.IdleTimeout, relay.IdleTimeout)
	expectReset(t, g.client)
	if <-sent == nil {
		t.Error("the server could write all")
	}
}

// TestContextEnds closes in order, as no bytes are on their way.
func TestContextEnds(t *testing.T) {
	for name, s := range combinations {
		t.Run(name, func(t *testing.T) {
			s.options = forEver()
			g := newRig(t, s)
			g.cancel()
			expectEnd(t, g.client, "")
			expectEnd(t, g.server, "")
			g.ends(t, relay.Shutdown, relay.Shutdown)
		})
	}
}

// TestCloseElsewhere closes one of the relay's connections.
func TestCloseElsewhere(t *testing.T) {
	_, nearClient := connect(t, false)
	server, nearServer := connect(t, false)
	results := make(chan relay.Result, 1)
	go func() { results <- new(relay.Engine).Run(t.Context(), nearClient, nearServer, forEver()) }()
	_ = nearClient.Close()
	expectEnd(t, server, "")
	if result := <-results; result.First != relay.Shutdown || result.Final != relay.Shutdown {
		t.Errorf("%+v", result)
	}
}

// TestWithoutHalfClose ends both directions of a connection that can't end one.
func TestWithoutHalfClose(t *testing.T) {
	near, far := net.Pipe()
	server, nearServer := connect(t, false)
	results := make(chan relay.Result, 1)
	go func() { results <- new(relay.Engine).Run(t.Context(), near, nearServer, forEver()) }()
	write(t, far, "hello")
	expect(t, server, "hello")
	write(t, server, "bye")
	_ = server.Close()
	expectEnd(t, far, "bye")
	if result := <-results; result.First != relay.ServerEOF || result.Final != relay.ServerEOF {
		t.Errorf("%+v", result)
	}
}

func TestReasonsHaveNames(t *testing.T) {
	var names bytes.Buffer
	for reason := range relay.Error + 1 {
		names.WriteString(reason.String() + " ")
	}
	want := "none client_eof server_eof client_reset server_reset idle_timeout termination_delay shutdown error "
	if names.String() != want {
		t.Errorf("reasons %s", names.String())
	}
}
