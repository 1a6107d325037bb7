// Package listeners has a socket for each address on which providers have declared listeners. The sockets follow the
// table that serves: new addresses are bound before a table with them is activated, and served after. Addresses that
// are gone drain as an entrypoint does at the end of the process, and all others are left alone. An address that cannot
// be bound is reported as verdicts on its listeners, and tried again.
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

// Factory makes the servers of addresses.
type Factory interface {
	// Server returns one that has not bound its address. The name in its errors is that address.
	Server(socket router.Socket) (Server, error)
}

// Options are what a Manager needs.
type Options struct {
	Factory Factory
	Logger  telemetry.Logger
	// Await returns when clients may be served for the first time, at the latest when ctx ends; nil serves them at once.
	Await func(ctx context.Context)
}

// Manager opens and closes the sockets of listeners. It is a router.Sockets and a pipeline.VerdictSource.
type Manager struct {
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
	cancel context.CancelFunc
}

// New returns a Manager that serves nothing before Run.
func New(options Options) *Manager {
	return &Manager{
		options: options, changed: make(chan struct{}, 1), retry: make(chan struct{}, 1),
		current: map[router.Address]*socket{},
	}
}

// Bind binds the addresses that are new, or have other options, and gives no other up. Clients wait until Follow.
func (m *Manager) Bind(sockets []router.Socket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	next := make(map[router.Address]*socket, len(sockets))
	for _, wanted := range sockets {
		before := m.current[wanted.Address]
		if before != nil && before.Template == wanted.Template {
			before.Listeners = wanted.Listeners
			next[wanted.Address] = before
			continue
		}
		next[wanted.Address] = m.open(wanted, before)
	}
	for address, before := range m.current {
		if next[address] != before {
			m.replaced = append(m.replaced, before)
		}
	}
	m.current = next
	m.note()
}

// open returns a new socket, bound if that is possible. before has the address until now, or is nil.
func (m *Manager) open(wanted router.Socket, before *socket) *socket {
	s := &socket{Socket: wanted}
	if s.server, s.err = m.options.Factory.Server(wanted); s.err != nil {
		s.server = nil
		m.options.Logger.Error("the address of a listener is not served", "address", wanted.String(), "error", s.err)
		return s
	}
	predecessors := slices.Clone(m.draining)
	if before != nil {
		predecessors = append(predecessors, before)
	}
	for _, other := range slices.Backward(predecessors) {
		if other.Address == wanted.Address && other.err == nil && takeOver(s.server, other.server) == nil {
			m.options.Logger.Info("listening", "address", wanted.String(), "listeners", wanted.Listeners)
			return s
		}
	}
	if m.listen(s); s.err != nil {
		m.options.Logger.Error("the address of a listener cannot be bound; trying again", "address", wanted.String(),
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
func (m *Manager) listen(s *socket) {
	if s.err = s.server.Listen(context.Background()); s.err == nil {
		m.options.Logger.Info("listening", "address", s.String(), "listeners", s.Listeners)
	}
}

// Follow serves what the last Bind has bound, and drains and closes everything else.
func (m *Manager) Follow() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serveBound()
	for _, gone := range m.replaced {
		switch {
		case gone.cancel != nil:
			m.options.Logger.Info("the address of a listener drains", "address", gone.String())
			gone.cancel()
			m.draining = append(m.draining, gone)
		case gone.err == nil:
			_ = gone.server.Close()
		}
	}
	m.replaced = nil
	m.again()
}

// serveBound begins to serve what is bound.
func (m *Manager) serveBound() {
	if m.serving == nil || m.ended {
		return
	}
	for _, s := range m.current {
		if s.err != nil || s.cancel != nil {
			continue
		}
		ctx, cancel := context.WithCancel(m.serving)
		s.cancel = cancel
		m.work.Go(func() {
			defer cancel()
			m.serve(ctx, s)
		})
	}
}

// serve serves a socket until it is gone and has drained.
func (m *Manager) serve(ctx context.Context, s *socket) {
	if m.options.Await != nil {
		m.options.Await(ctx)
	}
	err := s.server.Serve(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = slices.DeleteFunc(m.draining, func(other *socket) bool { return other == s })
	if err != nil {
		m.options.Logger.Error("the address of a listener is served no more", "address", s.String(), "error", err)
	}
	if err != nil && m.current[s.Address] == s && ctx.Err() == nil {
		s.server, _ = m.options.Factory.Server(s.Socket) // It has made the same one before.
		s.err, s.cancel = err, nil
		m.note()
	}
	m.again() // The address may be wanted again.
}

// Run serves the sockets until ctx ends and all of them have drained. It is called once.
func (m *Manager) Run(ctx context.Context) {
	m.mu.Lock()
	m.serving = ctx
	m.serveBound()
	m.mu.Unlock()
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-m.retry:
		case <-timer.C:
		}
		if m.rebind() {
			timer.Reset(retryPause)
		}
	}
	m.end()
	m.work.Wait()
}

// rebind tries to bind what is not bound, and reports whether something is left.
func (m *Manager) rebind() (left bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	recovered := false
	for _, s := range m.current {
		if s.err == nil || s.server == nil {
			continue
		}
		m.listen(s)
		recovered, left = recovered || s.err == nil, left || s.err != nil
	}
	if recovered {
		m.serveBound()
		m.note()
	}
	return left
}

// end gives up what is bound and not served.
func (m *Manager) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for _, s := range m.current {
		if s.err == nil && s.cancel == nil {
			_ = s.server.Close()
		}
	}
}

// again has what is not bound tried again.
func (m *Manager) again() { signal(m.retry) }

// note says that there are other verdicts.
func (m *Manager) note() { signal(m.changed) }

// signal puts a value into a channel with room for one, unless there is one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Changed returns a channel that holds a value when Verdicts returns others than before.
func (m *Manager) Changed() <-chan struct{} { return m.changed }

// Verdicts returns those on the listeners whose addresses are not bound.
func (m *Manager) Verdicts() []dynamic.Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	var verdicts []dynamic.Verdict
	for _, s := range m.current {
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
