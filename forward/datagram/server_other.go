//go:build !linux

package datagram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// lateness is the part of the time-out, as a divisor, by which a session may end late.
const lateness = 8

// socket is the system's part of a session.
type socket struct{ conn *net.UDPConn }

// serve runs a relay for each socket.
func (s *Server) serve(ctx context.Context, sockets []net.PacketConn) error {
	var running sync.WaitGroup
	var failed error
	for _, conn := range sockets {
		listener, ok := conn.(*net.UDPConn)
		if !ok {
			failed = fmt.Errorf("sockets for datagrams: %T is none", conn)
			continue
		}
		r := &relay{listener: listener}
		r.table = newTable(s, r)
		running.Go(r.run)
		running.Go(func() { r.runClock(ctx) })
	}
	if failed == nil {
		<-ctx.Done()
	}
	for _, conn := range sockets {
		_ = conn.Close()
	}
	running.Wait()
	return failed
}

// relay relays the datagrams of one socket of the entrypoint.
type relay struct {
	mutex sync.Mutex
	table
	listener *net.UDPConn
	readers  sync.WaitGroup
}

// run relays until the socket is closed.
func (r *relay) run() {
	buffer := make([]byte, 64<<10)
	for {
		n, client, err := r.listener.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err == nil {
			client = netip.AddrPortFrom(client.Addr().Unmap(), client.Port())
			r.fromClient(key{client: client}, buffer[:n])
		}
	}
	r.mutex.Lock()
	r.now = r.server.instant()
	r.endAll()
	r.mutex.Unlock()
	r.readers.Wait()
}

// runClock ends idle sessions until ctx ends.
func (r *relay) runClock(ctx context.Context) {
	ticker := time.NewTicker(max(r.server.options.Timeout/lateness, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.mutex.Lock()
			r.now = r.server.instant()
			r.expire()
			r.mutex.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// fromClient sends a datagram to the endpoint of the client's session.
func (r *relay) fromClient(k key, data []byte) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.now = r.server.instant()
	for range maxTries {
		s := r.sessions[k]
		if s == nil {
			var cause Cause
			if s, cause = r.open(k, nil); s == nil {
				r.server.drops.add(cause, 1)
				return
			}
		}
		r.heard(s)
		_, err := s.socket.conn.Write(data)
		switch {
		case err == nil:
			s.sent(1, len(data), data)
			return
		case !unreachable(err):
			r.server.drops.add(Unsent, 1)
			return
		}
		r.elsewhere(s)
	}
	r.server.drops.add(NoEndpoint, 1)
}

// elsewhere replaces a session whose endpoint has refused a datagram.
func (r *relay) elsewhere(s *session) {
	for s = r.failOver(s); s != nil; s = r.failOver(s) {
		if _, err := s.socket.conn.Write(s.kept); err == nil {
			s.fromClient.add(1, len(s.kept))
			return
		} else if !unreachable(err) {
			r.server.drops.add(Unsent, 1)
			s.kept = s.kept[:0]
			return
		}
	}
}

// connect makes the socket of a session, and reads from it.
func (r *relay) connect(s *session) error {
	dialer := net.Dialer{Control: r.server.options.Descriptors.Control}
	dialed, err := dialer.Dial("udp", s.target.Member.Endpoint().Key().Address.String())
	if err != nil {
		return err
	}
	conn := dialed.(*net.UDPConn)
	s.socket.conn = conn
	r.readers.Go(func() { r.fromEndpoint(s, conn) })
	return nil
}

func (r *relay) disconnect(s *session) { _ = s.socket.conn.Close() }

// sweep ends the sessions whose connections are closed.
func (r *relay) sweep() {
	r.readers.Go(func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.now = r.server.instant()
		r.endClosed()
	})
}

// fromEndpoint sends to the client what its endpoint sends.
func (r *relay) fromEndpoint(s *session, conn *net.UDPConn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buffer)
		if err != nil && !unreachable(err) {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if !r.answer(s, buffer[:n], err) {
			return
		}
	}
}

// answer sends a datagram of the endpoint to the client, and reports whether the session goes on. err says that the
// endpoint has refused one.
func (r *relay) answer(s *session, data []byte, err error) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.now = r.server.instant()
	switch {
	case s.ended:
		return false
	case err != nil:
		r.elsewhere(s)
		return false
	}
	r.answers(s)
	allowed, last := s.expected(1)
	r.server.drops.add(Surplus, 1-allowed)
	if allowed > 0 {
		s.fromEndpoint.add(1, len(data))
		if _, err := r.listener.WriteToUDPAddrPort(data, s.key.client); err != nil {
			r.server.drops.add(Unsent, 1)
		}
	}
	if last {
		r.end(s, Responses)
	}
	return !last
}
