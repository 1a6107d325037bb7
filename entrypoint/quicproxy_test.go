package entrypoint_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// quicProxy relays datagrams between one client and a server, and may lose or count them.
type quicProxy struct {
	front  *net.UDPConn
	server *net.UDPAddr
	work   sync.WaitGroup
	// pass decides about each datagram; toServer is its direction. It is called by one goroutine at a time.
	pass  func(datagram []byte, toServer bool) bool
	mutex sync.Mutex
	// back is the socket to the server, client the address of the client.
	back   *net.UDPConn
	client *net.UDPAddr
}

// newQUICProxy starts a proxy, which ends with the test. pass may be nil.
func newQUICProxy(t *testing.T, server string, pass func(datagram []byte, toServer bool) bool) *quicProxy {
	t.Helper()
	address, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	p := &quicProxy{server: address, pass: pass, front: listenUDP(t)}
	p.rebind(t)
	p.work.Go(p.toServer)
	t.Cleanup(func() {
		_ = p.front.Close()
		p.mutex.Lock()
		_ = p.back.Close()
		p.mutex.Unlock()
		p.work.Wait()
	})
	return p
}

func listenUDP(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// rebind sends to the server from another port from now on, as a NAT does that has forgotten a mapping.
func (p *quicProxy) rebind(t *testing.T) {
	t.Helper()
	next := listenUDP(t)
	p.mutex.Lock()
	before := p.back
	p.back = next
	p.mutex.Unlock()
	if before != nil {
		_ = before.Close()
	}
	p.work.Go(func() { p.toClient(next) })
}

func (p *quicProxy) passes(datagram []byte, toServer bool) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.pass == nil || p.pass(datagram, toServer)
}

func (p *quicProxy) toServer() {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := p.front.ReadFromUDP(buffer)
		if err != nil {
			return
		}
		p.mutex.Lock()
		p.client = from
		back := p.back
		p.mutex.Unlock()
		if p.passes(buffer[:n], true) {
			_, _ = back.WriteToUDP(buffer[:n], p.server)
		}
	}
}

func (p *quicProxy) toClient(back *net.UDPConn) {
	buffer := make([]byte, 1<<16)
	for {
		n, _, err := back.ReadFromUDP(buffer)
		if err != nil {
			return
		}
		p.mutex.Lock()
		client, replaced := p.client, p.back != back
		p.mutex.Unlock()
		if replaced {
			return // What was read before rebind, and not passed on, is lost as well.
		}
		if p.passes(buffer[:n], false) {
			_, _ = p.front.WriteToUDP(buffer[:n], client)
		}
	}
}

// untilRecorded starts a proxy that keeps the answers of the server from the client until there is a record: the
// handshake is not over when the request is handled.
func (s *served) untilRecorded() *quicProxy {
	return newQUICProxy(s.t, s.address, func(_ []byte, toServer bool) bool { return toServer || len(s.records) > 0 })
}

// loses drops a share of all datagrams, the same ones in each run of a client that sends the same.
func loses(share float64) func([]byte, bool) bool {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The sequence has to be the same each time.
	return func([]byte, bool) bool { return random.Float64() >= share }
}

// over returns a client of HTTP/3 whose datagrams go through the proxy. config may be nil.
func (s *served) over(p *quicProxy, config *tls.Config) *http.Client {
	if config == nil {
		config = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
	}
	transport := &http3.Transport{
		TLSClientConfig: config,
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, p.front.LocalAddr().String(), tlsConfig, config)
		},
	}
	s.t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport}
}
