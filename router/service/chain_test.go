package service_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// proxy is the whole way of a request, from an entrypoint on loopback to endpoints, with one router to the service
// top@file.
type proxy struct {
	t       *testing.T
	address string
	mirrors *service.Mirrors
	// records are of requests that have ended.
	records chan telemetry.Record
}

// Finished takes the record of a request.
func (p *proxy) Finished(record *telemetry.Record) {
	select {
	case p.records <- *record:
	default:
	}
}

func newProxy(t *testing.T, services map[string]*dynamic.Service) *proxy {
	t.Helper()
	entrypoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	target := router.NewActiveTable(entrypoints)
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	p := &proxy{t: t, mirrors: service.NewMirrors(), records: make(chan telemetry.Record, 1000)}
	compiler := router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Registry: registry, Transport: transport, Tickets: certificate.NewTickets(),
		Mirrors: p.mirrors,
	}, target)
	changed := []dynamic.Ref{{Kind: dynamic.KindRouter, Name: "r@file"}}
	for name := range services {
		changed = append(changed, dynamic.Ref{Kind: dynamic.KindService, Name: name})
	}
	compiled := compiler.Compile(router.Input{Configuration: &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers:  immutable.Of(map[string]*dynamic.Router{"r@file": {Rule: "PathPrefix(`/`)", Service: "top"}}),
			Services: immutable.Of(services),
			Middlewares: immutable.Of(map[string]*dynamic.Middleware{
				"main@file":   {Chain: &dynamic.Chain{Middlewares: []string{"prefix", "headers"}}},
				"prefix@file": {AddPrefix: &dynamic.AddPrefix{Prefix: "/main"}},
				"headers@file": {Headers: &dynamic.Headers{
					CustomRequestHeaders: map[string]string{"X-Main": "1"}, CustomResponseHeaders: map[string]string{"X-Main": "1"},
				}},
			}),
			ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{}),
		},
		TLS: &dynamic.TLSConfiguration{Options: immutable.Of(map[string]*dynamic.TLSOptions{})},
	}, Changed: changed, Final: true})
	for _, verdict := range compiled.Verdicts {
		t.Fatal(verdict)
	}
	compiled.Activate(1)
	p.serve(target)
	return p
}

func (p *proxy) serve(target *router.ActiveTable) {
	t := p.t
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = p.address
	counters := metrics.New(metrics.Options{EntryPoints: true}).Entrypoint("web")
	front, err := entrypoint.New("web", config, target.Handler("web"), nil, entrypoint.Dependencies{
		Logger: telemetry.Discard{}, Connections: counters, Sinks: []entrypoint.Sink{p},
		Listen: func(context.Context, string, string) (net.Listener, error) { return listener, nil },
	})
	if err == nil {
		err = front.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- front.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		p.mirrors.Close()
	})
}

func (p *proxy) dial() (net.Conn, *bufio.Reader) {
	p.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func endpoint(t *testing.T, handler http.HandlerFunc) *dynamic.Service {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	lb := &dynamic.ServersLoadBalancer{}
	lb.SetDefaults()
	lb.Servers = []dynamic.Server{{URL: server.URL}}
	lb.Servers[0].SetDefaults()
	return &dynamic.Service{LoadBalancer: lb}
}

// consistent returns what is wrong with a request whose fields, path and body all hold one id.
func consistent(r *http.Request) string {
	id := r.Header.Get("X-Id")
	body, err := io.ReadAll(r.Body)
	if err != nil || id == "" || !strings.HasSuffix(r.URL.Path, "/"+id) || r.Method == http.MethodPost &&
		string(body) != strings.Repeat(id, 50) {
		return fmt.Sprintf("%s %s, X-Id %q, body %.40q, %v", r.Method, r.URL.Path, id, body, err)
	}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "A-") && values[0] != id {
			return fmt.Sprintf("%s has %s: %q", id, name, values)
		}
	}
	return ""
}

// The memory of a request serves the next one as soon as the client has its answer, while mirrors still read their
// copies. The main service fails every other request, and its middlewares edit what they get.
func TestRequestsAreKeptApartFromTheirCopies(t *testing.T) {
	const clients, rounds = 6, 40
	var mirrored, edited atomic.Int64
	complain := make(chan string, 100)
	check := func(r *http.Request, main bool) string {
		wrong := consistent(r)
		if wrong == "" && main != (r.Header.Get("X-Main") != "" && strings.HasPrefix(r.URL.Path, "/main/")) {
			edited.Add(1)
			wrong = "edited: " + r.URL.Path
		}
		if wrong != "" {
			select {
			case complain <- wrong:
			default:
			}
		}
		return wrong
	}
	var turn atomic.Int64
	answer := func(main bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if check(r, main) != "" {
				w.WriteHeader(http.StatusConflict)
				return
			}
			if main {
				w.Header().Set("X-From-Main", "1")
				if turn.Add(1)%2 == 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}
			_, _ = io.WriteString(w, r.Header.Get("X-Id"))
		}
	}
	main := endpoint(t, answer(true))
	main.Middlewares = []string{"main"}
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Mirroring: &dynamic.Mirroring{Service: "failover", Mirrors: []dynamic.MirrorService{{
			Name:    "mirror",
			Percent: 100,
		}, {Name: "mirror", Percent: 50}}}},
		"failover@file": {Failover: &dynamic.Failover{
			Service: "main", Fallback: "fallback",
			Errors: &dynamic.FailoverErrors{Status: []string{"503"}},
		}},
		"main@file":     main,
		"fallback@file": endpoint(t, answer(false)),
		"mirror@file": endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
			mirrored.Add(1)
			check(r, false)
		}),
	})
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			conn, reader := p.dial()
			defer func() { _ = conn.Close() }()
			for round := range rounds {
				if err := converse(conn, reader, fmt.Sprintf("%d-%d", client, round), round); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	close(complain)
	for wrong := range complain {
		t.Error(wrong)
	}
	counts := p.mirrors.Counts()
	if want := uint64(clients * rounds * 3 / 2); counts.Sent+counts.Dropped != want || counts.Unread+counts.Broken > 0 {
		t.Errorf("%+v, want %d", counts, want)
	}
}

// converse sends a request with an id, with a body in every other round, and returns what is wrong with the answer.
func converse(conn net.Conn, reader *bufio.Reader, id string, round int) error {
	var head strings.Builder
	method, body := "GET", ""
	if round%2 == 1 {
		method, body = "POST", strings.Repeat(id, 50)
	}
	fmt.Fprintf(&head, "%s /%s HTTP/1.1\r\nHost: x.test\r\nX-Id: %s\r\n", method, id, id)
	for i := range round {
		fmt.Fprintf(&head, "A-%d: %s\r\n", i, id)
	}
	switch {
	case body != "" && round%4 == 1:
		fmt.Fprintf(&head, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case body != "":
		fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n%s", len(body), body)
	default:
		head.WriteString("\r\n")
	}
	if _, err := io.WriteString(conn, head.String()); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || string(got) != id {
		return fmt.Errorf("%s was answered %d %q", id, response.StatusCode, got)
	}
	if main := response.Header.Get("X-From-Main"); main != response.Header.Get("X-Main") {
		return fmt.Errorf("%s: header %v of two answers", id, response.Header)
	}
	return nil
}

// An endpoint that refuses before it has read the body interrupts the read from the client. The fallback reads on.
func TestAnInterruptedBodyGoesToTheFallback(t *testing.T) {
	refused := make(chan struct{}, 1)
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Failover: &dynamic.Failover{
			Service: "main", Fallback: "fallback",
			Errors: &dynamic.FailoverErrors{Status: []string{"503"}},
		}},
		"main@file": endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
			refused <- struct{}{}
		}),
		"fallback@file": endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprint(w, string(body), err)
		}),
	})
	for _, chunked := range []bool{false, true} {
		conn, reader := p.dial()
		head, pieces := "Content-Length: 12", []string{"0123", "4567", "89ab"}
		if chunked {
			head, pieces = "Transfer-Encoding: chunked", []string{"4\r\n0123\r\n", "4\r\n4567\r\n", "4\r\n89ab\r\n0\r\n\r\n"}
		}
		// The client goes on when main has answered, which interrupts its body.
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x.test\r\n"+head+"\r\n\r\n"+pieces[0]); err != nil {
			t.Fatal(err)
		}
		<-refused
		for _, piece := range pieces[1:] {
			if _, err := io.WriteString(conn, piece); err != nil {
				t.Fatal(err)
			}
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(response.Body); err != nil || string(got) != "0123456789ab<nil>" ||
			response.StatusCode != http.StatusOK {
			t.Errorf("chunked %v: %d %q, %v", chunked, response.StatusCode, got, err)
		}
		_ = conn.Close()
	}
}

// The record of a request names the service that answered, and a mirror leaves no trace in it.
func TestTheRecordIsOfTheServiceThatAnswered(t *testing.T) {
	hold := make(chan struct{})
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Mirroring: &dynamic.Mirroring{Service: "failover", Mirrors: []dynamic.MirrorService{{
			Name:    "mirror",
			Percent: 100,
		}}}},
		"failover@file": {Failover: &dynamic.Failover{
			Service: "main", Fallback: "fallback",
			Errors: &dynamic.FailoverErrors{Status: []string{"500"}},
		}},
		"main@file": endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}),
		"fallback@file": endpoint(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }),
		"mirror@file":   endpoint(t, func(http.ResponseWriter, *http.Request) { <-hold }),
	})
	conn, reader := p.dial()
	defer func() { _ = conn.Close() }()
	start := time.Now()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x.test\r\n\r\n")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	record := <-p.records
	if record.Service != "fallback@file" || record.Status != http.StatusAccepted || record.Reason != "" ||
		record.Tries < 2 || record.Duration > time.Since(start) {
		t.Errorf("record %+v", record)
	}
	close(hold)
}
