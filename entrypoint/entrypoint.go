package entrypoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TLSSelector says under which options a client is accepted. It is called at every ClientHello, so that a reload takes
// effect without a new listener.
type TLSSelector interface {
	// SelectTLS returns the options for an SNI, which is in lower case and empty when the client sent none. False
	// refuses the handshake, because the options that belong to the name could not be loaded.
	SelectTLS(serverName string) (*certificate.Options, bool)
}

// Sink takes the record of a request that is over. It must not block, and must not keep the pointer.
type Sink interface {
	Finished(record *telemetry.Record)
}

// Starter takes the record of a request that a handler is about to get, with the request as it comes from the
// entrypoint. It must not block, and must not keep either.
type Starter interface {
	Began(record *telemetry.Record, r *http.Request)
}

// Connections counts connections.
type Connections interface {
	// Opened counts a connection that has been accepted.
	Opened()
	// Closed counts its end.
	Closed()
}

// Handshakes counts TLS handshakes. Its methods must not block.
type Handshakes interface {
	// HandshakeDone counts one that has succeeded.
	HandshakeDone(state *tls.ConnectionState)
	// HandshakeFailed counts one by the error of crypto/tls.
	HandshakeFailed(err error)
}

// QUICConnections counts connections of HTTP/3. Its methods must not block.
type QUICConnections interface {
	Connections
	// Failed counts one that ended by an error or was refused, by the name of an h3.Cause.
	Failed(cause string)
	// Dropped counts a packet that was not passed on to a process that drains.
	Dropped()
}

// HTTP2Failures counts connections of HTTP/2. Its method must not block.
type HTTP2Failures interface {
	// HTTP2Failed counts one that ended by a fault of its client, by the name of a cause of http2/server.
	HTTP2Failed(cause string)
}

// Gate bounds how fast connections are accepted. Its methods may be called from any goroutine.
type Gate interface {
	// Enter waits until one more connection may be served, or until ctx ends. It takes a fraction of a second at most.
	Enter(ctx context.Context)
	// TryEnter reports whether a connection that cannot wait, one of HTTP/3, may be served, and counts it.
	TryEnter() bool
	// Crowded reports whether half of the connections that may be served for now have come. Clients of HTTP/3 must prove
	// their addresses then.
	Crowded() bool
}

// TimeoutReducer says when connections are closed sooner. Its method may be called from any goroutine.
type TimeoutReducer interface {
	// ReducesTimeouts reports whether connections that are idle for a fifth of the time-out are closed.
	ReducesTimeouts() bool
}

// Dependencies are what an Entrypoint uses of other packages. Only Logger is required.
type Dependencies struct {
	Logger telemetry.Logger
	// Connections counts those over TCP.
	Connections Connections
	// Handshakes may be nil.
	Handshakes Handshakes
	// Observe is what records say until a router says otherwise.
	Observe telemetry.Observe
	// Watched is what a router may say; what Observe has is a part of it whether it is in there or not.
	Watched telemetry.Observe
	// Starter takes every record when its request begins, since a router may have it logged; it may be nil.
	Starter Starter
	// Sinks take every finished record, in this order.
	Sinks []Sink
	// Streams chooses the connections of TCP routers; nil serves HTTP alone.
	Streams Streams
	// Challenges answers the handshakes that validate names; nil treats them like all others.
	Challenges Challenges
	// HTTP3 is what the servers of HTTP/3 have in common; nil has the entrypoint use its own.
	HTTP3 *h3.Process
	// QUIC counts connections of HTTP/3; it may be nil.
	QUIC QUICConnections
	// HTTP2 counts connections of HTTP/2 that ended by a fault of their clients; it may be nil.
	HTTP2 HTTP2Failures
	// Refusals counts connections that are refused because of a limit; it may be nil.
	Refusals Refusals
	// Descriptors has connections over TCP refused that would take a descriptor in reserve; nil keeps none.
	Descriptors *descriptors.Limit
	// Directory lists and closes the connections, and reserves the address if it is a loopback one; it may be nil.
	Directory *Directory
	// Reachable has the Directory not reserve the address.
	Reachable bool
	// Gate has connections wait before they are served; it may be nil.
	Gate Gate
	// Timeouts has idle and silent connections closed sooner; it may be nil.
	Timeouts TimeoutReducer
	// Inherited has sockets that take the place of new ones; nil has none.
	Inherited Inherited
	// Listen replaces the listener of the operating system.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
}

// Entrypoint is one address on which traffic comes in.
type Entrypoint struct {
	name     string
	address  static.Address
	deps     Dependencies
	selector TLSSelector
	settings settings
	chain    chain
	tls      *tls.Config
	listener net.Listener
	// listed is set while the directory knows the addresses; its mutex guards it.
	listed bool
	open   registry
	// connectionRate and requestRate are nil without limits.
	connectionRate, requestRate *rate
	handshakes                  handshakes
	refusedFor                  [refusals]atomic.Uint64
	// http3 and packets are its server and its socket; nil without HTTP/3.
	http3     *h3.Server
	packets   net.PacketConn
	alternate alternate
	reports   chan report
	draining  atomic.Bool
	parking   parking
}

// New checks the configuration of a TCP entrypoint; it does not listen yet. Requests go to handler. selector may be
// nil, and then the entrypoint speaks no TLS. Errors name the entrypoint and the option.
func New(
	name string, config *static.EntryPoint, handler http.Handler, selector TLSSelector, deps Dependencies,
) (*Entrypoint, error) {
	address, err := config.ListenAddress()
	if err != nil {
		return nil, fmt.Errorf("entrypoint %q: address: %w", name, err)
	}
	if address.Network != "tcp" {
		return nil, fmt.Errorf("entrypoint %q: address %s: it is no address of tcp", name, address)
	}
	settings, err := newSettings(config)
	if err != nil {
		return nil, fmt.Errorf("entrypoint %q: %w", name, err)
	}
	e := &Entrypoint{
		name: name, address: address, deps: deps, selector: selector, settings: settings,
		reports: make(chan report, reportQueue), parking: newParking(),
	}
	e.chain = chain{entrypoint: e, next: handler}
	limits := &settings.limits
	e.open.init(limits.MaxConnections, limits.MaxConnectionsPerClient, deps.Directory)
	e.connectionRate = newRate(limits.MaxConnectionRate, limits.MaxConnectionRatePerClient, limits.ConnectionBurst)
	e.requestRate = newRate(limits.MaxRequestRate, limits.MaxRequestRatePerClient, limits.RequestBurst)
	e.handshakes = newHandshakes(limits)
	if http3 := settings.http3; http3 != nil && selector != nil && !http3.Withdrawn {
		e.http3 = e.newHTTP3()
	}
	e.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: e.configForClient}
	if e.deps.Listen == nil {
		e.deps.Listen = e.systemListen
	}
	return e, nil
}

// Name returns the name of the entrypoint.
func (e *Entrypoint) Name() string { return e.name }

// Addr returns the address on which the entrypoint listens, or nil before Listen. It has the port that the system chose
// where the configuration says 0.
func (e *Entrypoint) Addr() net.Addr {
	if e.listener == nil {
		return nil
	}
	return e.listener.Addr()
}

// Draining reports whether the context of Serve has ended, so that ping can answer with its terminating status.
func (e *Entrypoint) Draining() bool { return e.draining.Load() }

// maxPorts is how many ports are tried of those that the system chooses, since HTTP/3 needs the one of TCP for UDP too.
const maxPorts = 20

// Listen binds the address, unless its socket is inherited. The error is one line that names the entrypoint, the
// address and the cause.
func (e *Entrypoint) Listen(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		listener, inherited, err := e.bind(ctx)
		if err != nil {
			return listenError(e.name, err)
		}
		if e.http3 != nil {
			e.packets, err = e.bindPackets(ctx, listener.Addr())
		}
		if err == nil {
			e.listener = listener
			e.alternate = newAlternate(e.settings.http3, e.packets)
			e.listens()
			return nil
		}
		_ = listener.Close()
		if inherited || e.address.Port != 0 || attempt == maxPorts || !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("entrypoint %q: %w", e.name, err)
		}
	}
}

// listens has the directory know the address.
func (e *Entrypoint) listens() {
	if e.deps.Directory != nil {
		e.deps.Directory.listens(e)
	}
}

// ListenWith takes the place of Listen, with the socket of another entrypoint of the same address, which need not be
// closed before: both accept the connections that come. It fails where the other does not listen any more.
func (e *Entrypoint) ListenWith(other *Entrypoint) error {
	shared, ok := other.listener.(syscall.Conn)
	if !ok || e.http3 != nil {
		return fmt.Errorf("entrypoint %q: its socket: %w", e.name, errors.ErrUnsupported)
	}
	file, err := duplicate(shared)
	if err != nil {
		return fmt.Errorf("entrypoint %q: %w", e.name, err)
	}
	listener, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("entrypoint %q: %w", e.name, err)
	}
	e.listener = listener
	e.listens()
	return nil
}

// listenError returns the error of an entrypoint that cannot listen.
func listenError(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("entrypoint %q: %w; ports below 1024 need the capability CAP_NET_BIND_SERVICE "+
			"(setcap cap_net_bind_service=+ep, or AmbientCapabilities in a systemd unit)", name, err)
	}
	return fmt.Errorf("entrypoint %q: %w", name, err)
}

// Close gives the address up that Listen has bound, for an entrypoint that will not be served.
func (e *Entrypoint) Close() error {
	if e.listener == nil {
		return nil
	}
	if e.deps.Directory != nil {
		e.deps.Directory.leaves(e)
	}
	if e.packets != nil {
		_ = e.packets.Close()
	}
	return e.listener.Close()
}

// Serve accepts connections until ctx ends, drains as the package comment says, and returns nil when nothing is left.
// Accept errors are retried with a growing pause of at most a second; only a listener that was closed elsewhere is
// an error. Listen comes first, and Serve is called once.
func (e *Entrypoint) Serve(ctx context.Context) error {
	if e.listener == nil {
		return fmt.Errorf("entrypoint %q: %w", e.name, errors.New("not listening"))
	}
	servers := e.newServers()
	if directory := e.deps.Directory; directory != nil {
		directory.enter(&e.open, listing{name: e.name, servers: e.retirers(servers)})
		defer directory.leave(&e.open)
		defer func() {
			if _, handed := handedOver(ctx); !handed { // Otherwise another process listens there.
				directory.leaves(e)
			}
		}()
	}
	return e.run(ctx, servers)
}
