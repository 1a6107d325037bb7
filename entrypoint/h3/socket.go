package h3

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/ipv4"
)

// socket is the UDP socket of a transport. Its packets are read from the socket itself, or from a feed while another
// process reads the socket. quic-go uses ReadBatch, and writes with the methods of net.UDPConn.
type socket struct {
	*net.UDPConn

	intake *intake
	batch  *ipv4.PacketConn
	// buffer has a packet of a feed.
	buffer []byte
}

// intake is where the packets of a server come from. The socket may come later than the first Park.
type intake struct {
	// yielded is nil while the socket is read.
	yielded atomic.Pointer[yielded]
	// routes are the feeds of processes that drain; nil where there are none.
	routes atomic.Pointer[routes]
	// closing is closed when the transport closes, and ended when the socket is not used any more.
	closing, ended chan struct{}

	mutex  sync.Mutex
	socket *socket
	// fixed says that the socket cannot be left to another process.
	fixed, closed bool
	// abandon ends the server. It is set before the first connection.
	abandon func()
}

// yielded is a time in which another process reads the socket.
type yielded struct {
	// source has the packets that the other process writes into sink.
	source, sink *net.UnixConn
	// parked is closed when the socket is not read any more, resume when it is read again.
	parked, resume chan struct{}
	once           sync.Once
	// left says that the socket will not be read again, and lost that the other process has closed the feed.
	left, lost bool
}

func newIntake() *intake {
	return &intake{closing: make(chan struct{}), ended: make(chan struct{}), abandon: func() {}}
}

// open returns what a transport uses in the place of a socket. abandon may be called once.
func (i *intake) open(conn net.PacketConn, abandon func()) net.PacketConn {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	udp, ok := conn.(*net.UDPConn)
	if i.fixed = !ok || !feedsSupported; i.fixed {
		return conn
	}
	i.abandon = abandon
	i.socket = &socket{
		UDPConn: udp, intake: i, batch: ipv4.NewPacketConn(udp), buffer: make([]byte, maxFeedPacket),
	}
	return i.socket
}

// end closes the feeds, after the transport has closed.
func (i *intake) end() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if y := i.yielded.Load(); y != nil {
		y.close()
	}
	if r := i.routes.Swap(nil); r != nil {
		r.close()
	}
	close(i.ended)
}

// ReadBatch returns at least one packet, or an error. quic-go would handle the packets before again after 0 packets or
// an error, and call it again at once after a time-out; so there is one only where the transport closes.
func (s *socket) ReadBatch(ms []ipv4.Message, flags int) (int, error) {
	for {
		if y := s.intake.yielded.Load(); y != nil {
			if n, err := s.readFeed(y, &ms[0]); n > 0 || err != nil {
				return n, err
			}
			continue
		}
		n, err := s.batch.ReadBatch(ms, flags)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && !s.isClosing() {
				continue // Another process reads now.
			}
			return n, err
		}
		if r := s.intake.routes.Load(); r != nil {
			if n = r.deliver(ms[:n]); !r.used() {
				s.intake.routes.CompareAndSwap(r, nil)
			}
		}
		if n > 0 {
			return n, nil
		}
	}
}

// readFeed returns 1 with a packet, and 0 where another source may have one.
func (s *socket) readFeed(y *yielded, m *ipv4.Message) (int, error) {
	y.once.Do(func() { close(y.parked) })
	n, err := y.source.Read(s.buffer)
	switch {
	case err == nil:
		if unpack(s.buffer[:n], m) {
			return 1, nil
		}
		return 0, nil
	case s.isClosing():
		return 0, os.ErrDeadlineExceeded
	case s.intake.yielded.Load() != y:
		return 0, nil
	}
	s.intake.lose(y)
	select {
	case <-y.resume:
		return 0, nil
	case <-s.intake.closing:
		return 0, os.ErrDeadlineExceeded
	}
}

// SetReadDeadline has ReadBatch end, and is called when the transport closes.
func (s *socket) SetReadDeadline(t time.Time) error {
	i := s.intake
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if !i.closed {
		i.closed = true
		close(i.closing)
	}
	if y := i.yielded.Load(); y != nil {
		_ = y.source.SetReadDeadline(t)
	}
	return s.UDPConn.SetReadDeadline(t)
}

// isClosing reports whether the transport closes.
func (s *socket) isClosing() bool {
	select {
	case <-s.intake.closing:
		return true
	default:
		return false
	}
}

// lose is called when the other process has closed the feed.
func (i *intake) lose(y *yielded) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if y.lost = true; y.left {
		i.abandon()
	}
}

func (y *yielded) close() {
	_ = y.source.Close()
	_ = y.sink.Close()
}
