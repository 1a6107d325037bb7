package harness

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc"
)

// Backend is an endpoint in this process with three listeners on loopback. Its responses depend on the path; see its
// handlers.
type Backend struct {
	// Name is sent in the header X-Backend of every response.
	Name string
	// H1, H2 and H2C are the addresses (host:port) of the listeners: HTTP/1.1; TLS with HTTP/2 and HTTP/1.1; HTTP/2 with
	// prior knowledge and HTTP/1.1, both without TLS.
	H1, H2, H2C string

	seen    atomic.Int64
	grpc    *grpc.Server
	mutex   sync.Mutex
	streams map[string]*Stream
}

// StartBackend starts a backend; the certificate of its TLS listener is issued by the authority to 127.0.0.1 and
// backend.test. It is closed at the end of the test, with all connections.
func StartBackend(t testing.TB, name string, authority *Authority) *Backend {
	t.Helper()
	b := &Backend{Name: name, streams: map[string]*Stream{}, grpc: newGRPC()}
	mux := http.NewServeMux()
	b.routes(mux)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.seen.Add(1)
		w.Header().Set("X-Backend", name)
		w.Header().Set("X-Upstream-Protocol", r.Proto)
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			b.grpc.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	b.H1 = serve(t, handler, new(http.Protocols), nil)
	unencrypted := new(http.Protocols)
	unencrypted.SetUnencryptedHTTP2(true)
	b.H2C = serve(t, handler, unencrypted, nil)
	if authority != nil {
		issued := authority.Issue("backend.test", "127.0.0.1")
		encrypted := new(http.Protocols)
		encrypted.SetHTTP2(true)
		b.H2 = serve(t, handler, encrypted, &tls.Config{Certificates: []tls.Certificate{issued.Pair}})
	}
	return b
}

// serve listens on loopback with HTTP/1.1 and the protocols given, and returns the address.
func serve(t testing.TB, handler http.Handler, protocols *http.Protocols, settings *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the server
	if err != nil {
		t.Fatal(err)
	}
	protocols.SetHTTP1(true)
	server := &http.Server{
		Handler: handler, Protocols: protocols, TLSConfig: settings,
		ErrorLog: log.New(io.Discard, "", 0), // Clients that disconnect are part of the tests.
	}
	ended := make(chan error, 1)
	go func() {
		if settings != nil {
			ended <- server.ServeTLS(listener, "", "")
			return
		}
		ended <- server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("backend: %v", err)
		}
	})
	return listener.Addr().String()
}

// Seen returns the number of requests of any kind.
func (b *Backend) Seen() int64 { return b.seen.Load() }

func (b *Backend) routes(mux *http.ServeMux) {
	mux.HandleFunc("/", b.echo)
	mux.HandleFunc("/mirror", b.mirror)
	mux.HandleFunc("/bytes", b.bytes)
	mux.HandleFunc("/trailers", b.trailers)
	mux.HandleFunc("/early", b.early)
	mux.HandleFunc("/status", b.status)
	mux.HandleFunc("/fields", b.fields)
	mux.HandleFunc("/events", b.events)
	mux.HandleFunc("/hang", b.hang)
	mux.HandleFunc("/slow", b.slow)
	mux.HandleFunc("/cut", b.cut)
	mux.HandleFunc("/refuse", b.refuse)
	mux.HandleFunc("/websocket", b.websocket)
}

// RefusedAddress returns an address of loopback that refuses connections. The port is reserved until the test ends.
func RefusedAddress(t testing.TB) string {
	t.Helper()
	// A socket that is bound without listening refuses connections and keeps its port.
	descriptor, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(descriptor) })
	if err := syscall.Bind(descriptor, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(descriptor)
	if err != nil {
		t.Fatal(err)
	}
	port := bound.(*syscall.SockaddrInet4).Port
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
