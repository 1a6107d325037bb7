package entrypoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// PacketEntrypoint is one address of UDP on which traffic comes in.
type PacketEntrypoint struct {
	name      string
	address   static.Address
	server    PacketServer
	inherited Inherited
	reusePort bool
	// acceptGrace and grace are those of lifeCycle.
	acceptGrace, grace time.Duration
	sockets            []net.PacketConn
	// kept are duplicates of them.
	kept []*kept
	// cut has a value after Cut.
	cut chan struct{}
}

// NewPackets checks the configuration of a UDP entrypoint; it does not listen yet. Datagrams go to server. Sockets of
// inherited, which may be nil, take the place of new ones. The error names the entrypoint and the option.
func NewPackets(
	name string, config *static.EntryPoint, server PacketServer, inherited Inherited,
) (*PacketEntrypoint, error) {
	address, err := config.ListenAddress()
	if err != nil {
		return nil, fmt.Errorf("entrypoint %q: address: %w", name, err)
	}
	if address.Network != "udp" {
		return nil, fmt.Errorf("entrypoint %q: address %s: it is no address of udp", name, address)
	}
	return &PacketEntrypoint{
		name: name, address: address, server: server, inherited: inherited, reusePort: config.ReusePort,
		acceptGrace: time.Duration(config.Transport.LifeCycle.RequestAcceptGraceTimeout),
		grace:       time.Duration(config.Transport.LifeCycle.GraceTimeOut),
		cut:         make(chan struct{}, 1),
	}, nil
}

// Name returns the name of the entrypoint.
func (e *PacketEntrypoint) Name() string { return e.name }

// Addr returns the address on which the entrypoint listens, or nil before Listen. It has the port that the system chose
// where the configuration says 0.
func (e *PacketEntrypoint) Addr() net.Addr {
	if len(e.sockets) == 0 {
		return nil
	}
	return e.sockets[0].LocalAddr()
}

// Listen binds the address, unless its sockets are inherited. The error is one line that names the entrypoint, the
// address and the cause. Another process that has the address is an error unless both have reusePort.
func (e *PacketEntrypoint) Listen(ctx context.Context) error {
	if e.inherited != nil {
		if sockets, ok := e.inherited.Packets(e.name, e.address.HostPort()); ok {
			return e.use(sockets)
		}
	}
	sockets, err := listenGroup(ctx, e.address.HostPort(), e.reusePort)
	if err != nil {
		return listenError(e.name, err)
	}
	return e.use(sockets)
}

// use keeps the sockets for Serve, or closes them when it fails.
func (e *PacketEntrypoint) use(sockets []net.PacketConn) error {
	e.sockets = sockets
	for _, socket := range sockets {
		conn, ok := socket.(syscall.Conn)
		if !ok {
			continue
		}
		one, err := keep(conn)
		if err != nil {
			err = errors.Join(fmt.Errorf("entrypoint %q: %w", e.name, err), e.Close())
			e.sockets, e.kept = nil, nil
			return err
		}
		e.kept = append(e.kept, one)
	}
	return nil
}

// Close gives the address up that Listen has bound, for an entrypoint that will not be served.
func (e *PacketEntrypoint) Close() error {
	e.release()
	var failed error
	for _, socket := range e.sockets {
		failed = errors.Join(failed, socket.Close())
	}
	return failed
}

// release closes what was kept for Sockets.
func (e *PacketEntrypoint) release() {
	for _, one := range e.kept {
		one.close()
	}
}

// Server returns the server of the datagrams.
func (e *PacketEntrypoint) Server() PacketServer { return e.server }

// Cut has Serve end without the grace time for sessions, once its context has ended. It does not wait.
func (e *PacketEntrypoint) Cut() {
	select {
	case e.cut <- struct{}{}:
	default:
	}
}

// Serve has the server serve the sockets until ctx ends, drains as the package comment says, and returns nil when
// nothing is left; with the cause ErrHandedOver it does not drain. The error is that of a server that cannot begin.
// Listen comes first, and Serve is called once.
func (e *PacketEntrypoint) Serve(ctx context.Context) error {
	if len(e.sockets) == 0 {
		return fmt.Errorf("entrypoint %q: %w", e.name, errors.New("not listening"))
	}
	defer e.release()
	base := context.WithoutCancel(ctx)
	serving, stop := context.WithCancel(base)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.server.ServePackets(serving, e.sockets) }()
	select {
	case <-ctx.Done():
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("entrypoint %q: %w", e.name, err)
		}
		return nil
	}
	if _, ok := handedOver(ctx); ok {
		stop()
		return <-ended
	}
	wait(serving, acceptGrace(ctx, e.acceptGrace))
	limited, cancel := context.WithTimeout(base, e.grace)
	defer cancel()
	go func() {
		select {
		case <-e.cut:
			cancel()
		case <-limited.Done():
		}
	}()
	_ = e.server.Shutdown(limited) // What is left is cut.
	stop()
	return <-ended
}

// listenPacket binds one address of UDP.
func listenPacket(ctx context.Context, address string, reuse bool) (net.PacketConn, error) {
	var config net.ListenConfig
	if reuse {
		config.Control = reusePort
	}
	return config.ListenPacket(ctx, "udp", address)
}
