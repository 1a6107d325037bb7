package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
)

// auxiliaries are the listeners of the addresses beside the entrypoints, whose accept loops are in other packages:
// those of xDS, the injector and the inspector. It is safe for concurrent use once inherited is set.
type auxiliaries struct {
	// inherited has sockets that take the place of new ones; nil has none.
	inherited entrypoint.Inherited

	mutex sync.Mutex
	open  []*auxiliary
}

// listen returns the listener of an address, [host]:port. The name is that of its option.
func (a *auxiliaries) listen(ctx context.Context, name, address string) (net.Listener, error) {
	listener, err := a.bind(ctx, name, address)
	if err != nil {
		return nil, err
	}
	socket, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s: its socket: %w", name, errors.ErrUnsupported), listener.Close())
	}
	one := &auxiliary{
		TCPListener: socket, name: name, hostPort: address, owner: a, turn: make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.open = append(a.open, one)
	return one, nil
}

// bind returns the inherited socket, or else a new one.
func (a *auxiliaries) bind(ctx context.Context, name, address string) (net.Listener, error) {
	if a.inherited != nil {
		if listener, ok := a.inherited.Listener(name, address); ok {
			return listener, nil
		}
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// all returns the open listeners.
func (a *auxiliaries) all() []*auxiliary {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.Clone(a.open)
}

// auxiliary is a listener whose Accept can stop for a while.
type auxiliary struct {
	*net.TCPListener

	name, hostPort string
	owner          *auxiliaries
	// turn has a value while Accept is in the system, or while the listener is parked.
	turn chan struct{}
	// parked is whether Park has the turn.
	parked  bool
	closed  chan struct{}
	closing sync.Once
}

// Accept returns the next connection. It waits while the listener is parked.
func (a *auxiliary) Accept() (net.Conn, error) {
	for {
		select {
		case a.turn <- struct{}{}:
		case <-a.closed:
			return nil, net.ErrClosed
		}
		conn, err := a.TCPListener.Accept()
		<-a.turn
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return conn, err
		}
	}
}

// Park stops Accept, and returns when nothing is accepted any more, or with the error of ctx when that ends before. It
// is called in turn with Unpark, which must follow also after an error.
func (a *auxiliary) Park(ctx context.Context) error {
	if err := a.SetDeadline(time.Now()); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("%s: stopping its accept loop: %w", a.name, err)
	}
	select {
	case a.turn <- struct{}{}:
		a.parked = true
	case <-a.closed:
	case <-ctx.Done():
		return fmt.Errorf("%s: stopping its accept loop: %w", a.name, context.Cause(ctx))
	}
	return nil
}

// Unpark has Accept go on.
func (a *auxiliary) Unpark() {
	_ = a.SetDeadline(time.Time{}) // Its error is that of a closed listener.
	if a.parked {
		a.parked = false
		<-a.turn
	}
}

// Sockets yields the socket.
func (a *auxiliary) Sockets(yield func(network string, socket syscall.Conn) bool) {
	yield("tcp", a.TCPListener)
}

// Close closes the socket of this process. It may be called again.
func (a *auxiliary) Close() error {
	a.closing.Do(func() {
		close(a.closed)
		a.owner.mutex.Lock()
		defer a.owner.mutex.Unlock()
		a.owner.open = slices.DeleteFunc(a.owner.open, func(one *auxiliary) bool { return one == a })
	})
	return a.TCPListener.Close()
}
