package handover

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// giving is a hand-over, from hello on.
type giving struct {
	server    *Server
	conn      *packetConn
	offer     *Offer
	successor Process
	// sent are the sockets that the successor has.
	sent map[syscall.Conn]struct{}
	// announced says that the successor has announced something.
	announced bool
}

// run serves the successor until it serves itself, or until one of both gives up, which is the error. stop has the end
// of ctx ignored from then on, and reports whether it has not come before.
func (g *giving) run(ctx context.Context, hello *message, stop func() bool) (err error) {
	if !slices.Contains(hello.Versions, protocolVersion) {
		return fmt.Errorf("the versions %v of the protocol include none of this process, %d", hello.Versions,
			protocolVersion)
	}
	if err := g.server.claim(); err != nil {
		return err
	}
	defer g.server.release()
	defer func() {
		// When this process ends meanwhile, the successor goes on.
		if err != nil && g.announced && ctx.Err() == nil {
			_ = g.offer.Announced(State{})
		}
	}()
	g.sent = map[syscall.Conn]struct{}{}
	if err := g.conn.send(&message{Type: typeWelcome, Version: protocolVersion, Release: g.offer.Release}); err != nil {
		return err
	}
	if err := g.load(); err != nil {
		return fmt.Errorf("%s is not ready: %w", g.successor, err)
	}
	if !stop() {
		return errEnded
	}
	return g.yield(ctx)
}

// load answers the successor until it is ready.
func (g *giving) load() error {
	limits := g.server.timeouts
	for end := time.Now().Add(limits.loading); ; {
		within := min(limits.silence, time.Until(end))
		m, descriptors, err := g.conn.receive(within)
		if errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(end) {
			return fmt.Errorf("%v have passed", limits.loading)
		}
		if err != nil {
			return err
		}
		closeDescriptors(descriptors)
		switch m.Type {
		case typeReady:
			return nil
		case typeAlive:
		case typeSockets:
			if err = g.announce(m.State); err == nil {
				err = g.sendSockets()
			}
			if err == nil {
				err = g.conn.send(&message{Type: typeEnd})
			}
		case typeStates:
			if err = g.sendStates(g.offer.Source.States); err == nil {
				err = g.conn.send(&message{Type: typeEnd})
			}
		default:
			err = fmt.Errorf("a message of type %s came", m.Type)
		}
		if err != nil {
			return err
		}
	}
}

// announce passes on what the successor has announced, if it has.
func (g *giving) announce(part *statePart) error {
	if part == nil || g.offer.Announced == nil {
		return nil
	}
	if !part.Last || part.Kind == "" {
		return errors.New("an announced state has no kind, or is not whole")
	}
	g.announced = true
	return g.offer.Announced(State{Kind: part.Kind, Version: part.Version, Data: part.Part})
}

// errNotServing is the error of a successor that does not serve after this process has yielded.
var errNotServing = errors.New("does not serve")

// yield stops serving, and leaves when the successor serves. Otherwise it goes on.
func (g *giving) yield(ctx context.Context) error {
	g.server.files.Lock()
	defer g.server.files.Unlock()
	if err := g.server.keep(); err != nil {
		return fmt.Errorf("keeping the socket file: %w", err)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.server.timeouts.yield)
	err := g.offer.Service.Yield(limited, g.successor)
	cancel()
	if err == nil {
		err = g.sendSockets()
	}
	if err == nil {
		err = g.sendStates(g.offer.Source.FinalStates)
	}
	if err == nil {
		err = g.conn.send(&message{Type: typeYielded})
	}
	if err == nil {
		err = g.awaitServing()
	}
	if err != nil {
		g.offer.Service.Resume()
		return fmt.Errorf("%s %w: %w", g.successor, errNotServing, errors.Join(err, g.server.restore()))
	}
	close(g.server.left) // Before Leave, with which the context of Serve may end.
	// Before bye, since a service manager must know the successor before that reports to it.
	g.offer.Service.Leave(g.successor)
	_ = g.conn.send(&message{Type: typeBye})
	return nil
}

// awaitServing waits until the successor serves.
func (g *giving) awaitServing() error {
	_, err := g.conn.expect(typeServing, g.server.timeouts.confirm)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// This process may have been stopped meanwhile, and the successor may serve already.
		_, err = g.conn.expect(typeServing, g.server.timeouts.last)
	}
	return err
}

// sendSockets sends the sockets that the successor does not have.
func (g *giving) sendSockets() error {
	var missing []Socket
	for _, socket := range g.offer.Source.Sockets() {
		if _, sent := g.sent[socket.Conn]; !sent {
			missing = append(missing, socket)
			g.sent[socket.Conn] = struct{}{}
		}
	}
	if len(g.sent) > maxSockets {
		return fmt.Errorf("there are more than %d sockets", maxSockets)
	}
	for batch := range slices.Chunk(missing, maxDescriptors) {
		m := &message{Type: typeSockets}
		err := hold(batch, func(held []Socket, descriptors []int) error {
			for _, socket := range held {
				m.Sockets = append(m.Sockets, socketEntry{
					Name: socket.Name, Network: socket.Network, Address: socket.HostPort, Index: socket.Index,
				})
			}
			return g.conn.send(m, descriptors...)
		})
		if err != nil {
			return err
		}
		if _, err := g.conn.expect(typeAck, g.server.timeouts.answer); err != nil {
			return err
		}
	}
	return nil
}

// hold calls use with sockets and their descriptors, which stay open meanwhile. Sockets that are closed are left out.
func hold(sockets []Socket, use func(held []Socket, descriptors []int) error) error {
	if len(sockets) == 0 {
		return use(nil, nil)
	}
	var held bool
	var failed error
	raw, err := sockets[0].Conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(descriptor uintptr) {
			held = true
			failed = hold(sockets[1:], func(others []Socket, descriptors []int) error {
				return use(append([]Socket{sockets[0]}, others...), append([]int{int(descriptor)}, descriptors...))
			})
		})
	}
	switch {
	case held:
		return failed
	case errors.Is(err, net.ErrClosed):
		return hold(sockets[1:], use)
	default:
		return fmt.Errorf("the socket of %s: %w", sockets[0].Address, err)
	}
}

// sendStates sends states in parts. What does not fit is left out.
func (g *giving) sendStates(states iter.Seq[State]) error {
	total := 0
	for state := range states {
		if total+len(state.Data) > maxStateBytes {
			g.offer.Failed(fmt.Errorf("the state %s is not handed over: all together have more than %d bytes", state,
				maxStateBytes))
			continue
		}
		total += len(state.Data)
		if err := g.sendState(state); err != nil {
			return err
		}
	}
	return nil
}

// sendState sends one state, which may be empty.
func (g *giving) sendState(state State) error {
	for rest, last := state.Data, false; !last; {
		part := rest[:min(len(rest), maxPartBytes)]
		rest = rest[len(part):]
		last = len(rest) == 0
		m := &message{Type: typeState, State: &statePart{Kind: state.Kind, Version: state.Version, Part: part, Last: last}}
		if err := g.conn.send(m); err != nil {
			return err
		}
	}
	return nil
}
