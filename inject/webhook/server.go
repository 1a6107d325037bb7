package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio/graceful"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// headerTimeout is how long the header of a request may take, bodyTimeout the whole request, and writeTimeout the
	// request with its answer.
	headerTimeout, bodyTimeout, writeTimeout = 5 * time.Second, 10 * time.Second, 30 * time.Second
	// idleTimeout is how long a connection may be silent between requests. The API server keeps its connections.
	idleTimeout = 90 * time.Second
	// maxHeader is the size of the header of a request, in bytes.
	maxHeader = 16 << 10
	// stopTimeout is how long reviews may take to end when the server stops.
	stopTimeout = 5 * time.Second
)

// GetCertificate returns the certificate of a connection; the TLS configuration calls it for each one.
type GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// ServerOptions are the dependencies of a Server.
type ServerOptions struct {
	// Handler answers reviews, Certificate is presented. Both are needed.
	Handler     *Handler
	Certificate GetCertificate
	// Ready returns why the server is not ready; nil when it is. It is needed, and must return at once.
	Ready func() error
	// Logger is needed.
	Logger telemetry.Logger
}

// Server serves reviews over TLS, and the pages /healthz and /ready.
type Server struct {
	options ServerOptions
	// draining is set by Drain, and ending also by EndConnections.
	draining, ending atomic.Bool
}

// NewServer returns a server.
func NewServer(options ServerOptions) *Server { return &Server{options: options} }

// Drain makes /ready answer 503, while reviews are still answered. Each answer ends its connection, so that few
// connections are left to be closed under a request when the server stops.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.EndConnections()
}

// EndConnections has each answer to a review end its connection, as Drain does; the pages stay as they are.
func (s *Server) EndConnections() { s.ending.Store(true) }

// Health returns the pages /healthz, which answers 200 as long as the process runs, and /ready, which answers 200 when
// reviews can be answered, and 503 with the reason otherwise.
func (s *Server) Health() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		err := s.options.Ready()
		if s.draining.Load() {
			err = errors.New("stopping")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	return mux
}

// Serve serves the listener until ctx ends, and closes it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	mux := s.Health()
	reviews := s.closing(s.options.Handler)
	mux.Handle(path, reviews)
	mux.Handle(path+"/", reviews)
	server := newHTTPServer(mux, s.options.Logger)
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.options.Certificate}
	return serve(ctx, server, listener, func() error { return server.ServeTLS(listener, "", "") })
}

// closing returns the handler, with Connection: close in its answers after EndConnections. API servers do not repeat
// a review whose connection was closed.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ending.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// ServePlain serves a handler without TLS until ctx ends, and closes the listener. It is for pages about the server.
func ServePlain(ctx context.Context, listener net.Listener, handler http.Handler, logger telemetry.Logger) error {
	server := newHTTPServer(handler, logger)
	return serve(ctx, server, listener, func() error { return server.Serve(listener) })
}

func newHTTPServer(handler http.Handler, logger telemetry.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: log.New(debugLog{logger}, "", 0),
	}
}

// serve runs a server until ctx ends, and lets requests end.
func serve(ctx context.Context, server *http.Server, listener net.Listener, accept func() error) error {
	if err := graceful.Serve(ctx, server, listener, stopTimeout, accept); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}

// debugLog receives what net/http says about connections: failed handshakes, for the most part.
type debugLog struct{ logger telemetry.Logger }

// Write logs one line.
func (l debugLog) Write(line []byte) (int, error) {
	reason := printable(strings.TrimSpace(string(line)), maxMessage)
	l.logger.Debug("a connection to the webhook has failed", "reason", reason)
	return len(line), nil
}
