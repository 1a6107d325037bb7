package population

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Port is that of all endpoints.
const Port = 8080

// Fields of an endpoint's answer.
const (
	// FieldBackend is the name that the endpoint's address was given.
	FieldBackend = "X-Backend"
	// FieldHost is the host that the endpoint was requested by.
	FieldHost = "X-Received-Host"
	// FieldTarget is the target of the request that the endpoint received.
	FieldTarget = "X-Received-Target"
)

// Received is what an endpoint has received; the answer to a request for FieldEcho holds it as JSON.
type Received struct {
	Method, Target, Host string
	Header               http.Header
}

// FieldEcho is a field of a request that makes the body of the answer a Received.
const FieldEcho = "X-Echo"

// Backends are endpoints at all local addresses of a network namespace, on one port.
type Backends struct {
	mutex sync.Mutex
	names map[string]string
}

// StartBackends listens until the test ends.
func StartBackends(tb testing.TB) *Backends {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp4", "0.0.0.0:8080")
	if err != nil {
		tb.Fatal(err)
	}
	b := &Backends{names: map[string]string{}}
	server := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	tb.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	})
	return b
}

// Name gives an address a name.
func (b *Backends) Name(address, name string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.names[address] = name
}

func (b *Backends) name(address string) string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.names[address]
}

// ServeHTTP implements [http.Handler].
func (b *Backends) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // A client that has gone reads no answer.
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	host, _, _ := strings.Cut(address.String(), ":")
	w.Header().Set(FieldBackend, b.name(host))
	w.Header().Set(FieldHost, r.Host)
	w.Header().Set(FieldTarget, r.RequestURI)
	if r.Header.Get(FieldEcho) != "" {
		_ = json.NewEncoder(w).Encode(Received{r.Method, r.RequestURI, r.Host, r.Header})
	}
}
