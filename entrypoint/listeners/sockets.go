// Package listeners has a socket for each address on which providers have declared listeners. The sockets follow the
// table that serves: new addresses are bound before a table with them is activated, and served after. Addresses that
// are gone drain as an entrypoint does at the end of the process, but accept no clients meanwhile, and all others are
// left alone. An address that cannot be bound is reported as verdicts on its listeners, and tried again.
package listeners

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// retryPause is the time between two attempts to bind the addresses that could not be bound.
const retryPause = time.Second

// Server serves one address; entrypoint.Entrypoint and entrypoint.PacketEntrypoint do.
type Server interface {
	// Listen binds the address. The error is one line.
	Listen(ctx context.Context) error
	// Close gives the address up where it will not be served.
	Close() error
	// Serve accepts clients until ctx ends, and drains.
	Serve(ctx context.Context) error
}

// ServerSource makes the servers of addresses.
type ServerSource interface {
	// Server returns one that has not bound its address. The name in its errors is that address.
	Server(socket router.Socket) (Server, error)
}

// Options are what a SocketSet needs.
type Options struct {
	Servers ServerSource
	Logger  telemetry.Logger
	// Await returns when clients may be served for the first time, at the latest when ctx ends; nil serves them at once.
	Await func(ctx context.Context)
}

// SocketSet opens and closes the sockets of listeners. It is a router.Sockets and a pipeline.VerdictSource.
type SocketSet struct {
	options Options
	changed chan struct{}
	retry   chan struct{}
	work    sync.WaitGroup

	mu sync.Mutex
	// serving is the context of Run; nil before it.
	serving context.Context //nolint:containedctx // It is that of everything that runs.
	ended   bool
	current map[router.Address]*socket
	// replaced are not current since the last Bind, and draining are being drained.
	replaced, draining []*socket
}

// socket is an address with its server.
type socket struct {
	router.Socket

	// server is nil where none can be made.
	server Server
	// err is why it is not bound; nil where it is.
	err error
	// cancel ends its Serve; nil before that.
	cancel context.CancelCauseFunc
}

// New returns a SocketSet that serves nothing before Run.
func New(options Options) *SocketSet {
	return &SocketSet{
		options: options, changed: make(chan struct{}, 1), retry: make(chan struct{}, 1),
		current: map[router.Address]*socket{},
	}
}

// Bind binds the addresses that are new, or have other options, and gives no other up. Clients wait until Follow.
func (set *SocketSet) Bind(sockets []router.Socket) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.ended {
		return
	}
	next := make(map[router.Address]*socket, len(sockets))
	for _, wanted := range sockets {
		before := set.current[wanted.Address]
		if before != nil && before.Template == wanted.Template {
			before.Listeners = wanted.Listeners
			next[wanted.Address] = before
			continue
		}
		next[wanted.Address] = set.open(wanted, before)
	}
	for address, before := range set.current {
		if next[address] != before {
			set.replaced = append(set.replaced, before)
		}
	}
	set.current = next
	set.note()
}

// open returns a new socket, bound if that is possible. before has the address until now, or is nil.
func (set *SocketSet) open(wanted router.Socket, before *socket) *socket {
	s := &socket{Socket: wanted}
	if s.server, s.err = set.options.Servers.Server(wanted); s.err != nil {
		s.server = nil
		set.options.Logger.Error("the address of a listener is not served", "address", wanted.String(), "error", s.err)
		return s
	}
	predecessors := slices.Clone(set.draining)
	if before != nil {
		predecessors = append(predecessors, before)
	}
	for _, other := range slices.Backward(predecessors) {
		if other.Address == wanted.Address && other.err == nil && takeOver(s.server, other.server) == nil {
			set.options.Logger.Info("listening", "address", wanted.String(), "listeners", wanted.Listeners)
			return s
		}
	}
	for _, other := range predecessors {
		if packets, isUDP := other.server.(*entrypoint.PacketEntrypoint); isUDP && other.Address == wanted.Address {
			packets.Cut() // The address is free when it has ended, which has it tried again.
		}
	}
	if set.listen(s); s.err != nil {
		set.options.Logger.Error("the address of a listener cannot be bound; trying again", "address", wanted.String(),
			"error", s.err, "after", retryPause.String())
	}
	return s
}

// takeOver has a server of TCP use the socket of another one, so that no client is refused in between.
func takeOver(server, from Server) error {
	next, isTCP := server.(*entrypoint.Entrypoint)
	before, wasTCP := from.(*entrypoint.Entrypoint)
	if !isTCP || !wasTCP {
		return fmt.Errorf("%T cannot take over the socket of %T", server, from)
	}
	return next.ListenWith(before)
}

// listen tries to bind a socket.
func (set *SocketSet) listen(s *socket) {
	if s.err = s.server.Listen(context.Background()); s.err == nil {
		set.options.Logger.Info("listening", "address", s.String(), "listeners", s.Listeners)
	}
}

// Follow serves what the last Bind has bound, and drains and closes everything else.
func (set *SocketSet) Follow() {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.serveBound()
	for _, gone := range set.replaced {
		switch {
		case gone.cancel != nil:
			set.options.Logger.Info("the address of a listener drains", "address", gone.String())
			gone.cancel(entrypoint.ErrWithdrawn)
			set.draining = append(set.draining, gone)
		case gone.err == nil:
			_ = gone.server.Close()
		}
	}
	set.replaced = nil
	set.again()
}

// serveBound begins to serve what is bound.
func (set *SocketSet) serveBound() {
	if set.serving == nil || set.ended {
		return
	}
	for _, s := range set.current {
		if s.err != nil || s.cancel != nil {
			continue
		}
		ctx, cancel := context.WithCancelCause(set.serving)
		s.cancel = cancel
		set.work.Go(func() {
			defer cancel(nil)
			set.serve(ctx, s)
		})
	}
}

// serve serves a socket until it is gone and has drained.
func (set *SocketSet) serve(ctx context.Context, s *socket) {
	if set.options.Await != nil {
		set.options.Await(ctx)
	}
	err := s.server.Serve(ctx)
	set.mu.Lock()
	defer set.mu.Unlock()
	set.draining = slices.DeleteFunc(set.draining, func(other *socket) bool { return other == s })
	if err != nil {
		set.options.Logger.Error("the address of a listener is served no more", "address", s.String(), "error", err)
	}
	if err != nil && set.current[s.Address] == s && ctx.Err() == nil {
		s.server, _ = set.options.Servers.Server(s.Socket) // The same options were valid before.
		s.err, s.cancel = err, nil
		set.note()
	}
	set.again() // The address may be wanted again.
}

// Run serves the sockets until ctx ends and all of them have drained. It is called once.
func (set *SocketSet) Run(ctx context.Context) {
	set.mu.Lock()
	set.serving = ctx
	set.serveBound()
	set.mu.Unlock()
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-set.retry:
		case <-timer.C:
		}
		if set.rebind() {
			timer.Reset(retryPause)
		}
	}
	set.end()
	set.work.Wait()
}

// rebind tries to bind what is not bound, and reports whether something is left.
func (set *SocketSet) rebind() (left bool) {
	set.mu.Lock()
	defer set.mu.Unlock()
	recovered := false
	for _, s := range set.current {
		if s.err == nil || s.server == nil {
			continue
		}
		set.listen(s)
		recovered, left = recovered || s.err == nil, left || s.err != nil
	}
	if recovered {
		set.serveBound()
		set.note()
	}
	return left
}

// end gives up what is bound and not served.
func (set *SocketSet) end() {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.ended = true
	for _, s := range set.current {
		if s.err == nil && s.cancel == nil {
			_ = s.server.Close()
		}
	}
}

// again has what is not bound tried again.
func (set *SocketSet) again() { signal(set.retry) }

// note says that there are other verdicts.
func (set *SocketSet) note() { signal(set.changed) }

// signal puts a value into a channel with room for one, unless there is one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Addresses returns the addresses of all sockets, in no order, also of those that drain or are not bound.
func (set *SocketSet) Addresses() []router.Address {
	set.mu.Lock()
	defer set.mu.Unlock()
	addresses := make([]router.Address, 0, len(set.current)+len(set.replaced)+len(set.draining))
	for address := range set.current {
		addresses = append(addresses, address)
	}
	for _, s := range slices.Concat(set.replaced, set.draining) {
		addresses = append(addresses, s.Address)
	}
	return addresses
}

// Servers calls yield with each server that has bound its address, and that address, until it returns false. Those that
// drain are left out.
func (set *SocketSet) Servers(yield func(address router.Address, server Server) bool) {
	set.mu.Lock()
	type boundServer struct {
		address router.Address
		server  Server
	}
	bound := make([]boundServer, 0, len(set.current))
	for _, s := range set.current {
		if s.err == nil {
			bound = append(bound, boundServer{s.Address, s.server})
		}
	}
	set.mu.Unlock()
	for _, one := range bound {
		if !yield(one.address, one.server) {
			return
		}
	}
}

// Changed returns a channel that holds a value when Verdicts returns others than before.
func (set *SocketSet) Changed() <-chan struct{} { return set.changed }

// Verdicts returns those on the listeners whose addresses are not bound.
func (set *SocketSet) Verdicts() []dynamic.Verdict {
	set.mu.Lock()
	defer set.mu.Unlock()
	var verdicts []dynamic.Verdict
	for _, s := range set.current {
		if s.err == nil {
			continue
		}
		reason := strings.TrimPrefix(s.err.Error(), fmt.Sprintf("entrypoint %q: ", s.HostPort))
		for _, name := range s.Listeners {
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: dynamic.Ref{Kind: dynamic.KindListener, Name: name}, Status: dynamic.Quarantined,
				Code: dynamic.CodeUnusableAddress, Reason: "the address is not served: " + reason,
			})
		}
	}
	return verdicts
}
