package nginx_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
	"github.com/sluiceproxy/sluice/integration/nginx/render"
)

// fieldTrace is the field that relates a request to what servers receive because of it.
const fieldTrace = "X-Trace"

// received is a request that a server has received.
type received struct {
	// server is "NAMESPACE/NAME" of a Service, or the host of a server outside of the cluster.
	server  string
	outside bool
	line    string
	header  http.Header
	body    string
}

// trace are the requests that servers receive because of one request of a case.
type trace struct {
	servers map[string]cases.Server
	// arrived has a place for each request; later ones are not kept.
	arrived chan received

	mutex sync.Mutex
	// answers is the number of answers to the request; changed is closed with the next one.
	answers int
	changed chan struct{}
	// given counts how often a reply matched that is for some requests only.
	given map[int]int
}

// times counts a match of a reply.
func (followed *trace) times(reply int) int {
	followed.mutex.Lock()
	defer followed.mutex.Unlock()
	followed.given[reply]++
	return followed.given[reply]
}

// answered counts an answer.
func (followed *trace) answered() {
	followed.mutex.Lock()
	defer followed.mutex.Unlock()
	followed.answers++
	close(followed.changed)
	followed.changed = make(chan struct{})
}

// wait waits for a number of answers. It is false when the context ends first.
func (followed *trace) wait(ctx context.Context, number int) bool {
	for {
		followed.mutex.Lock()
		enough, changed := followed.answers >= number, followed.changed
		followed.mutex.Unlock()
		if enough {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// backends is one server that stands for all Services, and for the servers outside of the cluster.
type backends struct {
	mutex  sync.Mutex
	traces map[string]*trace
}

// follow keeps what is received with a name until the context ends.
func (b *backends) follow(name string, servers map[string]cases.Server) *trace {
	followed := &trace{
		servers: servers, arrived: make(chan received, 1000), changed: make(chan struct{}), given: map[int]int{},
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.traces[name] = followed
	return followed
}

func (b *backends) trace(name string) *trace {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.traces[name]
}

// ServeHTTP implements [http.Handler].
func (b *backends) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The client has gone.
	}
	got := received{line: r.Method + " " + r.RequestURI, header: r.Header.Clone(), body: string(body)}
	got.header.Set("Host", r.Host)
	got.server = got.header.Get(render.FieldService)
	if outside := got.header.Get(render.FieldOutside); outside != "" {
		got.server, got.outside = outside, true
	}
	followed := b.trace(got.header.Get(fieldTrace))
	for _, own := range []string{fieldTrace, render.FieldService, render.FieldOutside} {
		got.header.Del(own)
	}
	server, described := cases.Server{Endpoints: 1}, false
	if followed != nil {
		if s, ok := followed.servers[got.server]; ok {
			server, described = s, true
		}
	}
	switch {
	case got.server == "/" && !described:
		http.Error(w, "default backend - 404", http.StatusNotFound)
		return
	case server.Endpoints == 0, got.server == "/-":
		http.Error(w, "no endpoints", http.StatusServiceUnavailable)
		return
	}
	if followed != nil {
		select {
		case followed.arrived <- got:
		default:
		}
	}
	answer(w, r, server, followed)
}

// answer writes the first reply that matches.
func answer(w http.ResponseWriter, r *http.Request, server cases.Server, followed *trace) {
	for i, reply := range server.Replies {
		if !strings.HasPrefix(r.RequestURI, reply.Path) || reply.Field != "" && r.Header.Get(reply.Field) != reply.Value ||
			reply.Times > 0 && followed.times(i) > reply.Times {
			continue
		}
		if reply.Status == 0 {
			panic(http.ErrAbortHandler)
		}
		if reply.Hold > 0 && !followed.wait(r.Context(), reply.Hold) {
			return
		}
		for _, field := range reply.Header {
			w.Header().Add(field.Name, field.Value)
		}
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body) // A client that has gone misses it.
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// startBackends listens on two sockets, the second with TLS. HTTP/2 is taken at both.
func startBackends(t *testing.T, plain, secure string, certificate tls.Certificate) *backends {
	t.Helper()
	b := &backends{traces: map[string]*trace{}}
	for _, socket := range []string{plain, secure} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{
			Handler: b, ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true, Protocols: new(http.Protocols),
			MaxHeaderBytes: 1 << 20,
		}
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(true)
		serve := server.Serve
		if socket == secure {
			server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
			serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { cancel(serve(listener)) }()
		t.Cleanup(func() {
			_ = server.Close()
			<-ctx.Done()
			if err := context.Cause(ctx); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
	}
	return b
}
