package h3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/httpio/heads"
)

// State says whether clients can come by HTTP/3.
type State uint32

const (
	// Waiting serves nothing yet, or takes no new connections any more.
	Waiting State = iota
	// Serving takes connections.
	Serving
	// Failed has lost its socket.
	Failed
)

// Server serves HTTP/3 on one socket.
type Server struct {
	config Config
	heads  *heads.Budget
	gate   *gate
	intake *intake
	state  atomic.Uint32
	// left says that another process serves new connections, by Leave.
	left atomic.Bool

	mutex    sync.Mutex
	listener http3.QUICListener
	stopped  bool
	conns    map[*Conn]struct{}
	// changed is sent to when a connection has ended.
	changed chan struct{}
}

// defaultStreams is MaxStreams where it is 0.
const defaultStreams = 100

// New makes a server.
func New(config *Config) *Server {
	s := &Server{
		config: *config, heads: heads.NewBudget(config.MaxHeaderBytes), gate: newGate(config.RetryAbove, config.Crowded),
		intake: newIntake(), conns: map[*Conn]struct{}{}, changed: make(chan struct{}, 1),
	}
	if s.config.MaxStreams <= 0 {
		s.config.MaxStreams = defaultStreams
	}
	return s
}

// State returns whether clients can come.
func (s *Server) State() State { return State(s.state.Load()) }

// ServePackets takes over a socket, and serves it until ctx ends. Then it cuts what is left, closes the socket and
// returns nil. The error is that of a socket that cannot be served, or fails; it is closed then. It is called once.
func (s *Server) ServePackets(ctx context.Context, socket net.PacketConn) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	transport := &quic.Transport{
		Conn:                  s.intake.open(socket, abandon),
		ConnectionIDGenerator: identifiers{s.config.Process},
		StatelessResetKey:     &s.config.Process.resetKey,
		TokenGeneratorKey:     &s.config.Process.tokenKey,
		VerifySourceAddress:   s.gate.verify,
		ConnContext:           s.admit(socket.LocalAddr()),
	}
	defer func() {
		s.cut()
		_ = transport.Close()
		_ = socket.Close()
		s.intake.end()
	}()
	listener, err := s.listen(transport)
	if err != nil {
		s.state.Store(uint32(Failed))
		return fmt.Errorf("HTTP/3: %w", err)
	}
	s.mutex.Lock()
	s.listener = listener
	s.mutex.Unlock()
	switch {
	case s.stopping():
		_ = listener.Close()
	case !s.left.Load():
		s.state.Store(uint32(Serving))
	}
	if err := s.accept(ctx, listener); err != nil {
		s.state.Store(uint32(Failed))
		return fmt.Errorf("HTTP/3: %w", err)
	}
	<-ctx.Done()
	s.state.Store(uint32(Waiting))
	return nil
}

// listen returns the listener. It hands connections over before the end of their handshakes if they may have early
// data.
func (s *Server) listen(transport *quic.Transport) (http3.QUICListener, error) {
	if s.config.Allow0RTT {
		return transport.ListenEarly(s.tlsConfig(), s.quicConfig())
	}
	return transport.Listen(s.tlsConfig(), s.quicConfig())
}

// accept serves connections until ctx ends or the listener is closed by Shutdown.
func (s *Server) accept(ctx context.Context, listener http3.QUICListener) error {
	for {
		q, err := listener.Accept(ctx)
		if err == nil {
			go connOf(q.Context()).serve(q)
			continue
		}
		if ctx.Err() != nil || errors.Is(err, quic.ErrServerClosed) {
			return nil //nolint:nilerr // It was closed by Shutdown, or is closed now.
		}
		return err
	}
}

// admit returns what is called for the first packet of a connection.
func (s *Server) admit(local net.Addr) func(context.Context, *quic.ClientInfo) (context.Context, error) {
	return func(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
		c := &Conn{server: s, local: local, remote: info.RemoteAddr}
		c.heads = s.heads.Account(func() { c.fail(CauseExcess) })
		c.inner = http3.Server{Handler: c, MaxHeaderBytes: s.config.MaxHeaderBytes}
		c.timer = time.AfterFunc(time.Hour, c.expire)
		c.timer.Stop()
		derived, ended, ok := s.config.Admit(context.WithValue(ctx, connKey{}, c), c)
		if !ok {
			if s.config.Failed != nil {
				s.config.Failed(CauseRefused)
			}
			return nil, errors.New("h3: too many connections")
		}
		c.ended = ended
		s.gate.handshakes.Add(1)
		s.mutex.Lock()
		s.conns[c] = struct{}{}
		s.mutex.Unlock()
		context.AfterFunc(ctx, func() { c.finished(context.Cause(ctx)) })
		return derived, nil
	}
}

// remove is called when a connection has ended.
func (s *Server) remove(c *Conn) {
	s.mutex.Lock()
	delete(s.conns, c)
	last := len(s.conns) == 0
	s.mutex.Unlock()
	if last && s.left.Load() {
		s.intake.abandon()
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// open returns the connections that there are.
func (s *Server) open() []*Conn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// count returns how many connections there are.
func (s *Server) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.conns)
}

// stopping reports whether Shutdown has been called.
func (s *Server) stopping() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.stopped
}

// EndKeepAlives sends GOAWAY on all connections, each of which ends when its requests have. New connections are still
// served. It does not wait. After Leave, connections without a request get GOAWAY with the first one, and those that
// are idle end by themselves.
func (s *Server) EndKeepAlives() {
	for _, c := range s.open() {
		c.retire()
	}
}

// CloseIdle sends GOAWAY on connections that have had no request for so long or longer, and ends them a second later at
// most, unless one has come meanwhile.
func (s *Server) CloseIdle(longer time.Duration) {
	for _, c := range s.open() {
		if c.idleFor() >= longer {
			c.retire()
		}
	}
}

// Shutdown takes no new connections, sends GOAWAY, and returns nil once no connection is left, or the error of ctx when
// that ends first. A client that does not close its connection itself gets a second to do so, and after Leave all the
// time. One caller at a time.
func (s *Server) Shutdown(ctx context.Context) error {
	s.state.CompareAndSwap(uint32(Serving), uint32(Waiting))
	s.mutex.Lock()
	listener := s.listener
	s.stopped = true
	s.mutex.Unlock()
	if listener != nil {
		_ = listener.Close()
	}
	for _, c := range s.open() {
		c.retire()
	}
	for s.count() > 0 {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// cut ends all connections.
func (s *Server) cut() {
	for _, c := range s.open() {
		_ = c.Close()
	}
}
