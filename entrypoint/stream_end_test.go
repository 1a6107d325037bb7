package entrypoint_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/static"
)

// lasting is a TCP router whose connections go on in the background until they are cut.
type lasting struct{ served chan struct{} }

func (l lasting) ServeStream(ctx context.Context, in *tcp.Incoming, done func()) {
	l.served <- struct{}{}
	go func() {
		<-ctx.Done()
		in.Result.End = "shutdown"
		if _, err := io.WriteString(in.Conn, "end\n"); err != nil {
			in.Result.End = err.Error()
		}
		done()
	}()
}

// TestCutConnectionsAreReported drains connections that do not end: they are cut by their context, while they are still
// open, and all of them are reported.
func TestCutConnectionsAreReported(t *testing.T) {
	t.Parallel()
	const connections = 50
	route := lasting{make(chan struct{}, connections)}
	s := startStreams(t, func(c *static.EntryPoint) {
		c.Transport.LifeCycle.GraceTimeOut = static.Duration(100 * time.Millisecond)
	}, tcp.NeedsUnread, func(tcp.Stage, *rule.Connection) tcp.Stream { return route })
	var clients []net.Conn
	for range connections {
		clients = append(clients, s.dial())
		<-route.served
	}
	s.stop()
	s.wait()
	if len(s.records) != connections {
		t.Fatalf("%d of %d connections are reported", len(s.records), connections)
	}
	for range connections {
		if record := <-s.records; record.End != "shutdown" {
			t.Fatalf("a connection ended by %s", record.End)
		}
	}
	for _, client := range clients {
		if got, err := io.ReadAll(client); err != nil || string(got) != "end\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

// TestEndBehindFirstBytes has clients end their direction behind bytes that could be the beginning of another protocol.
func TestEndBehindFirstBytes(t *testing.T) {
	t.Parallel()
	for sent, needs := range map[string]tcp.Needs{
		"\x00\x00": tcp.NeedsPlain | tcp.NeedsHello, "STATS": tcp.NeedsPlain | tcp.NeedsFirst,
		"PRI": tcp.NeedsPlain | tcp.NeedsFirst,
	} {
		s := startStreams(t, nil, needs, func(stage tcp.Stage, _ *rule.Connection) tcp.Stream {
			if stage != tcp.Plain {
				return nil
			}
			return accepting{}
		})
		conn := s.dial()
		say(t, conn, sent)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil && !errors.Is(err, io.EOF) || string(got) != sent {
			t.Errorf("%q is answered with %q, %v", sent, got, err)
		}
		s.stop()
		s.wait()
	}
}

// accepting is a TCP router that sends back all that a client sends until its end.
type accepting struct{}

func (accepting) ServeStream(_ context.Context, in *tcp.Incoming, done func()) {
	got, _ := io.ReadAll(in.Conn)
	_, _ = in.Conn.Write(got)
	done()
}
