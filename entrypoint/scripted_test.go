package entrypoint_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// script is what a client sends: pieces that arrive as one segment each, in turns. The next turn is sent when a byte
// has been answered to the former one, and the end of the connection follows the last turn.
type script [][][]byte

// pieces cuts bytes: into segments of one byte more than the elements of cuts, and the rest.
func pieces(sent, cuts []byte) [][]byte {
	var cut [][]byte
	for _, size := range cuts {
		if n := int(size) + 1; n < len(sent) {
			cut, sent = append(cut, sent[:n]), sent[n:]
		}
	}
	if len(sent) == 0 {
		return cut
	}
	return append(cut, sent)
}

// scripted is the connection of a client that follows a script. Reading never waits: where the client waits for an
// answer the time-out is over at once, and then the client ends the connection.
type scripted struct {
	turns   script
	waiting bool
	// read and wrote count bytes.
	read, wrote int
	// readDeadline and writeDeadline are as they were last set.
	readDeadline, writeDeadline time.Time
	mutex                       sync.Mutex
	closed                      chan struct{}
	once                        sync.Once
}

func (c *scripted) Read(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for turn := range c.turns {
		if turn > c.wrote {
			if c.waiting {
				break
			}
			c.waiting = true
			return 0, os.ErrDeadlineExceeded
		}
		if left := c.turns[turn]; len(left) > 0 {
			n := copy(p, left[0])
			if left[0] = left[0][n:]; len(left[0]) == 0 {
				c.turns[turn] = left[1:]
			}
			c.read += n
			return n, nil
		}
	}
	return 0, io.EOF
}

func (c *scripted) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.wrote += len(p)
	return len(p), nil
}

func (c *scripted) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *scripted) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *scripted) SetReadDeadline(t time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.readDeadline = t
	return nil
}

func (c *scripted) SetWriteDeadline(t time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.writeDeadline = t
	return nil
}

func (c *scripted) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }

func (c *scripted) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 50000}
}

// outcome is what became of the connection of a script.
type outcome struct {
	// stages are those at which the routers were looked through.
	stages []tcp.Stage
	// taken is set if a TCP router got the connection, and the following belong to that.
	taken     bool
	name      string
	protocols []string
	// before is how many bytes were read before.
	before int
	// passed is what came to the router.
	passed []byte
	// read and answered are how many bytes were read of the client, and written to it before the router had it.
	read, answered int
	// deadline is set if a deadline was left on the connection.
	deadline bool
}

// same reports whether the same became of two connections.
func (o *outcome) same(other *outcome) bool {
	return o.taken == other.taken && o.name == other.name && slices.Equal(o.stages, other.stages) &&
		slices.Equal(o.protocols, other.protocols)
}

// stage is an entrypoint for scripted connections, one at a time. Its TCP routers note what they get.
type stage struct {
	conns chan net.Conn
	ended chan struct{}
	// needs is what StreamNeeds returns, refused the stages at which no TCP router takes the connection.
	needs   tcp.Needs
	refused []tcp.Stage
	conn    *scripted
	outcome outcome
}

// newStage returns an entrypoint that is served until the test ends.
func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{conns: make(chan net.Conn), ended: make(chan struct{})}
	e, err := entrypoint.New("web", newConfig(), http.HandlerFunc(hello), nil, entrypoint.Dependencies{
		Logger: telemetry.Discard{}, Streams: s,
		Listen: func(context.Context, string, string) (net.Listener, error) { return s, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan error, 1)
	go func() { over <- e.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return s
}

// play has a client follow a script, and returns what became of its connection.
func (s *stage) play(turns script) *outcome {
	s.conn = &scripted{turns: turns, closed: make(chan struct{})}
	s.outcome = outcome{}
	s.conns <- s.conn
	<-s.conn.closed
	s.conn.mutex.Lock()
	defer s.conn.mutex.Unlock()
	s.outcome.read = s.conn.read
	result := s.outcome
	return &result
}

func (s *stage) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

func (s *stage) Close() error {
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
	return nil
}

func (s *stage) Addr() net.Addr { return s.conn.LocalAddr() }

func (s *stage) StreamNeeds() tcp.Needs { return s.needs }

func (s *stage) RouteStream(at tcp.Stage, c *rule.Connection) tcp.Stream {
	s.outcome.stages = append(s.outcome.stages, at)
	if slices.Contains(s.refused, at) {
		return nil
	}
	s.outcome.taken, s.outcome.name, s.outcome.protocols = true, c.ServerName, c.Protocols
	s.conn.mutex.Lock()
	defer s.conn.mutex.Unlock()
	s.outcome.before, s.outcome.answered = s.conn.read, s.conn.wrote
	return s
}

func (s *stage) ServeStream(_ context.Context, in *tcp.Incoming, done func()) {
	defer done()
	s.conn.mutex.Lock()
	s.outcome.deadline = !s.conn.readDeadline.IsZero() || !s.conn.writeDeadline.IsZero()
	s.conn.mutex.Unlock()
	s.outcome.passed, _ = io.ReadAll(in.Conn)
}

// helloOf returns the ClientHello of a client.
func helloOf(t testing.TB, name string, protocols ...string) []byte {
	t.Helper()
	kept := &recorder{}
	//nolint:gosec // There is no server.
	config := &tls.Config{ServerName: name, NextProtos: protocols, InsecureSkipVerify: true}
	_ = tls.Client(kept, config).HandshakeContext(t.Context())
	return kept.wrote.Bytes()
}

// recorder keeps what is written, and has nothing to read.
type recorder struct {
	net.Conn
	wrote bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error)    { return r.wrote.Write(p) }
func (*recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (*recorder) SetWriteDeadline(time.Time) error { return nil }
func (*recorder) Close() error                     { return nil }

// inSmallRecords divides the first TLS record into records of a size.
func inSmallRecords(record []byte, size int) []byte {
	if len(record) < 5 || size < 1 {
		return record
	}
	var divided []byte
	for part := range slices.Chunk(record[5:], size) {
		divided = append(divided, record[0], record[1], record[2], byte(len(part)>>8), byte(len(part)))
		divided = append(divided, part...)
	}
	return divided
}
