package forwardauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// timeout is how long the authentication server has for its whole answer.
	timeout = 30 * time.Second
	// dialTimeout bounds a connection attempt and, apart from it, a TLS handshake.
	dialTimeout = 10 * time.Second
	// maxConns is how many connections there are to the authentication server at most; further requests wait for one.
	maxConns = 512
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 90 * time.Second
	// maxHead bounds the head of an answer, in bytes.
	maxHead = 1 << 20
	// maxTries is how often an authentication request is asked at most.
	maxTries = 3
	// pingAfter is how long an HTTP/2 connection may be silent before it is tested, and pingTimeout how long that may
	// take. Otherwise one that leads nowhere would have every authentication request wait until its time is over.
	pingAfter, pingTimeout = 10 * time.Second, 5 * time.Second
)

// server is the way to the authentication server. Its connections are this middleware's alone.
type server struct {
	transport *http.Transport
	timeout   time.Duration
	closed    atomic.Bool
}

func newServer(config *dynamic.ForwardAuth, options Options) (*server, error) {
	secured, err := clienttls.New("forwardAuth.tls", clienttls.OptionsOf(config.TLS), options.ReadFile)
	if err != nil {
		return nil, err
	}
	return &server{
		timeout: timeout,
		transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            traced(&net.Dialer{Timeout: dialTimeout}),
			TLSClientConfig:        secured,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // What the client accepts decides.
			MaxIdleConns:           maxConns,
			MaxIdleConnsPerHost:    maxConns,
			MaxConnsPerHost:        maxConns,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHead,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		},
	}, nil
}

// close ends idle connections, and has those that are in use end when they become idle.
func (s *server) close() {
	s.closed.Store(true)
	s.transport.CloseIdleConnections()
}

// done is called when an authentication request has come to its end.
func (s *server) done() {
	if s.closed.Load() {
		s.transport.CloseIdleConnections()
	}
}

// ask returns the server's answer, whose body has yet to be read. It follows no redirects. The authentication request
// is asked again, as transports do on a connection that has ended, when it got a connection on which an answer to no
// authentication request lay.
func (s *server) ask(ctx context.Context, request *http.Request) (*http.Response, error) {
	for tries := 1; ; tries++ {
		answered, err := s.once(ctx, request)
		if !errors.Is(err, errUnsolicited) || tries == maxTries || !repeatable(request.Method) {
			return answered, err
		}
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// repeatable reports whether an authentication request may be asked twice: it changes nothing (RFC 9110 section 9.2.1).
func repeatable(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

func (s *server) once(ctx context.Context, request *http.Request) (*http.Response, error) {
	ctx, trace := traceRequest(ctx)
	answered, err := s.transport.RoundTrip(request.WithContext(ctx))
	switch unsolicited := trace.unsolicited.Load(); {
	case unsolicited && err == nil:
		_ = answered.Body.Close() // It belongs to no request.
		return nil, errUnsolicited
	case unsolicited:
		return nil, errUnsolicited
	case err != nil:
		return nil, err
	}
	if status := answered.StatusCode; status < http.StatusOK || status > 599 {
		_ = answered.Body.Close() // It is not used.
		return nil, errStatus
	}
	for name := range answered.Header {
		if !httpguts.ValidHeaderFieldName(name) { // The transport takes "X-User : a".
			_ = answered.Body.Close() // As above.
			return nil, errHeader
		}
	}
	return answered, nil
}

var (
	errStatus      = errors.New("its status is not between 200 and 599")
	errUnsolicited = errors.New("it answered before it was asked")
	errHeader      = errors.New("it has a header without a valid name")
	errTimeout     = errors.New("its time is over")
	errLocation    = errors.New("its Location is not a URL")
)

// describe says what went wrong with an answer, in words that hold nothing of what client or server sent.
func describe(err error) string {
	for _, own := range [...]error{errStatus, errUnsolicited, errHeader, errLocation, errTimeout} {
		if errors.Is(err, own) {
			return err.Error()
		}
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed.Error()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || untrusted(err) {
		return "its certificate is not trusted: " + err.Error()
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "it does not speak TLS"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errTimeout.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ended the connection before its answer was whole"
	}
	return "its answer can't be understood"
}

func untrusted(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return authority || host || invalid
}
