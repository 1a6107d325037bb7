package forwardauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

const (
	// timeout is how long the authentication server has for its whole answer.
	timeout = 30 * time.Second
	// dialTimeout bounds a connection attempt and, apart from it, a TLS handshake.
	dialTimeout = 10 * time.Second
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 90 * time.Second
	// maxHead bounds the head of an answer, in bytes.
	maxHead = 1 << 20
)

var (
	errStatus   = errors.New("its status is not between 200 and 599")
	errTimeout  = errors.New("its time is over")
	errLocation = errors.New("its Location is not a URL")
)

// server is the client of the authentication server. Its connections serve this middleware alone.
type server struct {
	upstream *client.Upstream
	// slots bounds the requests in flight, and with them the connections.
	slots   authorize.Slots
	timeout time.Duration
	closed  atomic.Bool
}

// newServer returns a client for the URL, whose host it writes in ASCII. It does not dial.
func newServer(config *dynamic.ForwardAuth, address *url.URL, options Options) (*server, error) {
	secured, err := clienttls.New("forwardAuth.tls", clienttls.OptionsOf(config.TLS), options.ReadFile)
	if err != nil {
		return nil, err
	}
	if err := encodeHost(address); err != nil {
		return nil, err
	}
	port := cmp.Or(address.Port(), "80")
	if address.Scheme == "http" {
		secured = nil
	} else {
		port = cmp.Or(address.Port(), "443")
		if secured == nil {
			secured = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		secured.ServerName = address.Hostname()
	}
	target, dial := net.JoinHostPort(address.Hostname(), port), options.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return &server{
		slots: authorize.NewSlots(), timeout: timeout,
		upstream: new(client.Resources).NewUpstream(&client.Config{
			Dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, "tcp", target) },
			TLS:  secured, HandshakeTimeout: dialTimeout,
			MaxIdle: authorize.MaxInFlight, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead,
		}),
	}, nil
}

// encodeHost writes an internationalised host in its ASCII form.
func encodeHost(address *url.URL) error {
	if strings.ContainsFunc(address.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		ascii, err := idna.Lookup.ToASCII(address.Hostname())
		if err != nil {
			return errors.New("forwardAuth.address has a host that is not a name")
		}
		address.Host = ascii + strings.TrimPrefix(address.Host, address.Hostname())
	}
	// The client removes a zone, which is valid on this machine only, from Host.
	if !strings.Contains(address.Host, "%") && !canonical.ValidAuthority(address.Host) {
		return errors.New("forwardAuth.address has a host that is not a name")
	}
	return nil
}

// release ends what acquiring a slot began. The body of the answer must have been closed.
func (s *server) release() {
	s.slots.Release()
	if s.closed.Load() {
		s.upstream.CloseIdleConnections()
	}
}

// close closes idle connections, and lets the others be closed when their request has ended.
func (s *server) close() {
	s.closed.Store(true)
	s.upstream.CloseIdleConnections()
}

// send returns the server's answer, whose body has yet to be read. It follows no redirects.
func (s *server) send(request *http.Request) (*http.Response, error) {
	// The body is in memory, so that no Read of it has to be interrupted.
	exchange := &client.RoundTrip{Options: client.Options{Interrupt: func() bool { return true }}}
	response, err := s.upstream.Do(exchange, request)
	if err != nil {
		return nil, err
	}
	if status := response.StatusCode; status < http.StatusOK || status > 599 {
		_ = response.Body.Close() // It is not used.
		return nil, errStatus
	}
	return response, nil
}
