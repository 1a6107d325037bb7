package process

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/migrate/answer"
)

// Endpoint is what Sluice has connected to.
type Endpoint struct {
	// Service is NAMESPACE/NAME, Number that of its endpoint, from 0 on, and -1 for the address of the Service itself.
	// Port is that of the Service: its number, or its name where the Service is not known.
	Service string
	Number  int
	Port    string
	// Host is the name or address of a server that is no endpoint; it has no Service, and Port is a number.
	Host string
	// Authorizes says that it was connected to for an external authentication.
	Authorizes bool
}

// String returns NAMESPACE/NAME:PORT, or HOST:PORT.
func (e *Endpoint) String() string {
	if e.Service == "" {
		return net.JoinHostPort(e.Host, e.Port)
	}
	return e.Service + ":" + e.Port
}

type endpointKey struct{}

// EndpointOf returns what Sluice has connected to, for a request that a handler gets.
func EndpointOf(r *http.Request) *Endpoint {
	found, _ := r.Context().Value(endpointKey{}).(*Endpoint)
	return found
}

// fieldArrival is the field of a response that says which request it answers.
const fieldArrival = "Sluice-Migrate-Arrival"

// kept is how many requests are kept that endpoints have received: more than there are in flight.
const kept = 1 << 14

// network is everything that Sluice connects to: one server.
type network struct {
	listener net.Listener
	server   *http.Server
	accepted chan net.Conn
	closed   chan struct{}
	running  sync.WaitGroup
	handler  http.Handler
	resolves func(name string) bool

	mu sync.Mutex
	// last is the last address that is assigned.
	last netip.Addr
	// hosts are by address, assigned is the address of a name.
	hosts    map[netip.Addr]*host
	assigned map[string]netip.Addr
	// dialed are connections of which no byte has been read, by the address of the side of Sluice.
	dialed map[string]*Endpoint
	// undecided are connections of which no byte has been read.
	undecided map[net.Conn]struct{}
	arrivals  uint64
	received  [kept]arrival
}

// host is what an address stands for. ports are the names of ports.
type host struct {
	Endpoint
	ports map[uint16]string
}

type arrival struct {
	number uint64
	sent   *answer.Upstream
}

// listen starts the server.
func listen(ctx context.Context, options *Options, authority *authority) (*network, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &network{
		listener: listener, accepted: make(chan net.Conn), closed: make(chan struct{}), handler: options.Handler,
		resolves: options.Resolves, last: netip.AddrFrom4([4]byte{198, 18, 0, 0}), hosts: map[netip.Addr]*host{},
		assigned: map[string]netip.Addr{}, dialed: map[string]*Endpoint{}, undecided: map[net.Conn]struct{}{},
	}
	for range options.Taken {
		n.last = n.last.Next()
	}
	if n.handler == nil {
		n.handler = http.HandlerFunc(presumed)
	}
	if n.resolves == nil {
		n.resolves = func(string) bool { return true }
	}
	n.server = &http.Server{
		Handler: http.HandlerFunc(n.serve), ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true,
		Protocols: new(http.Protocols), MaxHeaderBytes: 1 << 20, ConnContext: n.identify,
	}
	n.server.Protocols.SetHTTP1(true)
	n.server.Protocols.SetHTTP2(true)
	n.server.Protocols.SetUnencryptedHTTP2(true)
	secure := &tls.Config{GetCertificate: options.Certificate, MinVersion: tls.VersionTLS10}
	if options.Certificate == nil {
		secure.GetCertificate = authority.certificate
	}
	n.running.Go(func() { n.accept(secure) })
	n.running.Go(func() { _ = n.server.Serve(n) }) // It ends when the server is closed.
	return n, nil
}

// presumed answers as endpoints are presumed to.
func presumed(w http.ResponseWriter, r *http.Request) {
	if EndpointOf(r).Authorizes && r.Header.Get("Authorization") == "" && r.Header.Get("Cookie") == "" {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// accept takes connections, and finds out about TLS.
func (n *network) accept(secure *tls.Config) {
	for {
		conn, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.mu.Lock()
		n.undecided[conn] = struct{}{}
		n.mu.Unlock()
		n.running.Go(func() {
			begun := &begunConn{Conn: conn, in: bufio.NewReader(conn)}
			first, err := begun.in.Peek(1)
			n.mu.Lock()
			delete(n.undecided, conn)
			n.mu.Unlock()
			var ready net.Conn = begun
			if err == nil && first[0] == recordHandshake {
				ready = tls.Server(begun, secure.Clone())
			}
			if err == nil {
				select {
				case n.accepted <- ready:
					return
				case <-n.closed:
				}
			}
			n.drop(conn)
			_ = conn.Close()
		})
	}
}

// recordHandshake is the first byte of a connection with TLS (RFC 8446, section 5.1).
const recordHandshake = 22

// begunConn is a connection of which some bytes have been read.
type begunConn struct {
	net.Conn
	in *bufio.Reader
}

// Read reads first what has been read before.
func (c *begunConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// Accept implements net.Listener for connections whose first byte is there.
func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (n *network) Addr() net.Addr { return n.listener.Addr() }

// Close implements net.Listener.
func (n *network) Close() error { return n.listener.Close() }

// close ends all connections, and waits for their ends.
func (n *network) close() {
	close(n.closed)
	_ = n.listener.Close()
	_ = n.server.Close()
	n.mu.Lock()
	for conn := range n.undecided {
		_ = conn.Close()
	}
	n.mu.Unlock()
	n.running.Wait()
}

// assign gives a host an address. 65,536 Services with an endpoint each have room.
func (n *network) assign(of *host) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	next := n.last.Next()
	if !netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, 0}), 15).Contains(next) {
		return next, errors.New("there are more endpoints than addresses in 198.18.0.0/15")
	}
	n.last, n.hosts[next] = next, of
	return next, nil
}

// resolve returns the endpoint set of a key dns/NAME:PORT.
func (n *network) resolve(key string) dynamic.EndpointSet {
	set := dynamic.EndpointSet{Key: key}
	name, text, err := net.SplitHostPort(strings.TrimPrefix(key, namesProvider+"/"))
	if err != nil || !n.resolves(name) {
		return set
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return set
	}
	n.mu.Lock()
	at, known := n.assigned[name]
	n.mu.Unlock()
	if !known {
		if at, err = n.assign(&host{Endpoint: Endpoint{Host: name}}); err != nil {
			return set
		}
		n.mu.Lock()
		n.assigned[name] = at
		n.mu.Unlock()
	}
	set.Endpoints = []dynamic.Endpoint{{Address: netip.AddrPortFrom(at, uint16(port))}}
	return set
}

// dial connects to the server in place of an address.
func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return n.connect(ctx, network, address, false)
}

// authorize is dial for external authentication.
func (n *network) authorize(ctx context.Context, network, address string) (net.Conn, error) {
	return n.connect(ctx, network, address, true)
}

func (n *network) connect(ctx context.Context, network, address string, authorizes bool) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	of := &Endpoint{Host: name, Port: port, Authorizes: authorizes}
	if at, err := netip.ParseAddr(name); err == nil {
		n.mu.Lock()
		if known := n.hosts[at]; known != nil {
			*of = known.Endpoint
			if of.Port = port; known.ports != nil {
				number, _ := strconv.ParseUint(port, 10, 16)
				of.Port = known.ports[uint16(number)]
			}
			of.Authorizes = authorizes
		}
		n.mu.Unlock()
	} else if !n.resolves(name) {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, n.listener.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	n.mu.Lock()
	n.dialed[conn.LocalAddr().String()] = of
	n.mu.Unlock()
	return conn, nil
}

// identify has the requests of a connection know what was connected to.
func (n *network) identify(ctx context.Context, conn net.Conn) context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	from := conn.RemoteAddr().String()
	of := n.dialed[from]
	delete(n.dialed, from)
	return context.WithValue(ctx, endpointKey{}, of)
}

func (n *network) drop(conn net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.dialed, conn.RemoteAddr().String())
}

// serve keeps what is received, and has the handler answer.
func (n *network) serve(w http.ResponseWriter, r *http.Request) {
	at := EndpointOf(r)
	if at == nil {
		http.Error(w, "not connected to by Sluice", http.StatusBadGateway)
		return
	}
	sent := &answer.Upstream{
		Service: at.String(), Method: r.Method, Target: r.RequestURI, Host: r.Host, Header: r.Header.Clone(),
	}
	n.mu.Lock()
	n.arrivals++
	number := n.arrivals
	n.received[number%kept] = arrival{number, sent}
	n.mu.Unlock()
	w.Header().Set(fieldArrival, strconv.FormatUint(number, 10))
	n.handler.ServeHTTP(w, r)
}

// take returns what was received with a number, once; nil for what is unknown.
func (n *network) take(text string) *answer.Upstream {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	at := &n.received[number%kept]
	if at.number != number {
		return nil
	}
	sent := at.sent
	*at = arrival{}
	return sent
}
