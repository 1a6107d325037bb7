package kubernetes

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// replica is a pod of a Service with TCP and UDP, on one port: it answers each line and each datagram with its address
// before it.
type replica struct {
	address string // without the port
	// left is set before its connections are closed.
	left atomic.Bool

	t        testing.TB
	listener net.Listener
	packets  net.PacketConn
	mu       sync.Mutex
	conns    map[net.Conn]bool
	busy     sync.WaitGroup
}

// streamPort is the port of replicas.
const streamPort = "7000"

// newReplica returns a replica that does not listen yet.
func newReplica(t testing.TB, address string) *replica {
	r := &replica{address: address, t: t, conns: map[net.Conn]bool{}}
	t.Cleanup(r.leave)
	return r
}

// listen begins to serve.
func (r *replica) listen() {
	r.t.Helper()
	var config net.ListenConfig
	at := net.JoinHostPort(r.address, streamPort)
	var err error
	if r.listener, err = config.Listen(r.t.Context(), "tcp", at); err != nil {
		r.t.Fatal(err)
	}
	if r.packets, err = config.ListenPacket(r.t.Context(), "udp", at); err != nil {
		r.t.Fatal(err)
	}
	r.busy.Go(r.accept)
	r.busy.Go(r.answer)
}

func (r *replica) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.conns[conn] = true
		r.mu.Unlock()
		r.busy.Go(func() {
			for reader := bufio.NewReader(conn); ; {
				line, err := reader.ReadString('\n')
				if err != nil {
					break
				}
				_, _ = io.WriteString(conn, r.address+" "+line)
			}
			_ = conn.Close()
			r.mu.Lock()
			delete(r.conns, conn)
			r.mu.Unlock()
		})
	}
}

func (r *replica) answer() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := r.packets.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = r.packets.WriteTo([]byte(r.address+" "+string(buffer[:n])), from)
	}
}

// leave ends everything; it may be called again.
func (r *replica) leave() {
	if r.left.Swap(true) || r.listener == nil {
		return
	}
	_ = r.listener.Close()
	_ = r.packets.Close()
	r.mu.Lock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.mu.Unlock()
	r.busy.Wait()
}

// talk is a connection of a client, or a session.
type talk struct {
	conn   net.Conn
	reader *bufio.Reader
}

// sources gives each client an address of its own: what has one that was used before may belong to a session of then.
type sources struct{ count atomic.Uint32 }

// dial connects to an entrypoint.
func (s *sources) dial(ctx context.Context, network, address string) (*talk, error) {
	n := s.count.Add(1)
	ip := net.IPv4(198, 18, byte(8+n/250%240), byte(1+n%250)) //nolint:gosec // It is cut off.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}
	if network == "udp" {
		dialer.LocalAddr = &net.UDPAddr{IP: ip}
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &talk{conn: conn, reader: bufio.NewReader(conn)}, nil
}

// exchange sends a line and returns the address of the replica that has answered it. Answers to other lines are passed
// over.
func (c *talk) exchange(line string) (replica string, err error) {
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		return "", err
	}
	for {
		answer, err := c.reader.ReadString('\n')
		if err != nil {
			return "", err
		}
		if replica, rest, _ := strings.Cut(answer, " "); rest == line+"\n" {
			return replica, nil
		}
	}
}
