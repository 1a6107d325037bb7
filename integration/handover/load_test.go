package handover

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestNoRequestFails hands over several times under requests on new and on kept connections, none of which fails. The
// listeners beside the entrypoints are handed over too, and no route leads to them.
func TestNoRequestFails(t *testing.T) {
	const generations = 4
	s := newService(t, `
xds: {address: "${XDS}"}
inspector: {address: "${INSPECTOR}"}
injector:
  address: "127.0.0.1:0"
  statusAddress: "${STATUS}"
  config: "${DIR}"
  events: false
  webhookConfiguration: ""
  drainTimeout: 10ms
  tls: {certFile: "${CERT}", keyFile: "${KEY}"}
`)
	s.beside()
	s.setup.Dynamic["own.yaml"] = `
http:
  routers:
    xds: {rule: "Host(` + "`xds.test`" + `)", entryPoints: [web], service: xds}
    inspector: {rule: "Host(` + "`inspector.test`" + `)", entryPoints: [web], service: inspector}
    injector: {rule: "Host(` + "`injector.test`" + `)", entryPoints: [web], service: injector}
  services:
    xds: {loadBalancer: {servers: [{url: "h2c://${XDS}"}]}}
    inspector: {loadBalancer: {servers: [{url: "http://${INSPECTOR}"}]}}
    injector: {loadBalancer: {servers: [{url: "http://${STATUS}"}]}}
`
	current := harness.Start(t, s.setup)
	done := make(chan struct{})
	var work sync.WaitGroup
	counts := map[string]*atomic.Int64{}
	client := func(name string, send func() (int, error)) {
		count := new(atomic.Int64)
		counts[name] = count
		work.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n, err := send()
				if err != nil {
					t.Errorf("%s: after %d requests: %v", name, count.Load(), err)
					return
				}
				count.Add(int64(n))
			}
		})
	}
	for _, keep := range []bool{false, true} {
		client(fmt.Sprintf("HTTP/1.1, kept: %v", keep), func() (int, error) {
			return sendHTTP1(t.Context(), s.web, false, keep, done)
		})
		client(fmt.Sprintf("HTTP/1.1 with TLS, kept: %v", keep), func() (int, error) {
			return sendHTTP1(t.Context(), s.secure, true, keep, done)
		})
	}
	client("UDP, new sessions", func() (int, error) {
		conn, err := new(net.Dialer).DialContext(t.Context(), "udp", s.dns)
		if err != nil {
			return 0, err
		}
		defer func() { _ = conn.Close() }()
		return 1, sendUDP(conn, "a")
	})
	session, sent := dial(t, "udp", s.dns), 0
	client("UDP, one session", func() (int, error) {
		sent++
		return 1, sendUDP(session, strconv.Itoa(sent))
	})
	for name, variable := range map[string]string{"inspector": "INSPECTOR", "injector": "STATUS", "xDS": "XDS"} {
		address := s.setup.Vars[variable]
		client(name, func() (int, error) {
			if variable == "XDS" {
				return connectHTTP2(t.Context(), address)
			}
			return sendHTTP1(t.Context(), address, false, false, done)
		})
	}
	for protocol, address := range map[harness.Protocol]string{harness.H2: s.secure, harness.H2C: s.web} {
		http2 := harness.NewClient(t, protocol, address, "any.test", clientTLS())
		client(string(protocol), func() (int, error) { return try(http2) })
	}
	kept, fresh := s.newHTTP3(t), s.newHTTP3(t)
	client("HTTP/3, kept", func() (int, error) { return try(kept) })
	client("HTTP/3, new", func() (int, error) {
		defer fresh.CloseIdleConnections()
		return try(fresh)
	})
	for range generations {
		before := map[string]int64{}
		for name, count := range counts {
			before[name] = count.Load()
		}
		current = s.succeed(current)
		for name, count := range counts {
			harness.Until(t, "requests of "+name, func() bool { return t.Failed() || count.Load() > before[name] })
		}
	}
	close(done)
	work.Wait()
	for host, path := range map[string]string{"xds.test": "/", "inspector.test": "/status", "injector.test": "/healthz"} {
		if got := harness.NewClient(t, harness.H1, s.web, host, nil).Get(path); got.StatusCode != http.StatusBadGateway {
			t.Errorf("a route leads to the listener of %s: status %d", host, got.StatusCode)
		}
	}
	for name, count := range counts {
		t.Logf("%s: %d requests", name, count.Load())
	}
}

// manySessions is how many sessions of UDP are handed over.
const manySessions = 2000

// TestConnectionsStay has a connection of a TCP router, idle ones of HTTP/1.1 and a request of HTTP/3 go on in the
// predecessor, and sessions of UDP in the successor. The successor resumes TLS sessions, goes on with what rate limits
// have counted, knows the endpoints that have failed their checks, and orders certificates while the predecessor
// drains.
func TestConnectionsStay(t *testing.T) {
	s := newService(t, `
accessLog: {format: json}
certificatesResolvers:
  le: {acme: {storage: "${STORAGE}", caServer: "https://127.0.0.1:1/dir", httpChallenge: {entryPoint: web}}}
`)
	s.setup.Vars["STORAGE"] = filepath.Join(t.TempDir(), "acme.json")
	s.setup.Dynamic["states.yaml"] = `
http:
  routers:
    limited: {rule: "Host(` + "`limited.test`" + `)", entryPoints: [web], service: checked, middlewares: [limit]}
    inner: {rule: "Host(` + "`inner.test`" + `)", entryPoints: [web], service: inner}
  middlewares: {limit: {rateLimit: {average: 1, period: 1h}}}
  services:
    checked:
      loadBalancer:
        healthCheck: {path: /ok, interval: 1h}
        servers: [{url: "http://${BACKEND}"}, {url: "http://127.0.0.1:1"}]
    inner: {loadBalancer: {servers: [{url: "http://${INNER}"}]}}
`
	s.setup.Vars["INNER"] = harness.FreeAddress(t)
	const ordering = "this replica orders certificates"
	first := harness.Start(t, s.setup)
	first.WaitLog(ordering)
	ping := harness.NewClient(t, harness.H1, first.Addr("traefik"), "any.test", nil)
	ping.Get("/ping")
	resuming := clientTLS()
	resuming.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	if resumed(t, s.secure, resuming) {
		t.Error("the first TLS session is resumed")
	}
	first.WaitLog("endpoint failed its check")
	limited := func() int {
		client := harness.NewClient(t, harness.H1, s.web, "limited.test", nil)
		defer client.CloseIdleConnections()
		return client.Get("/ok").StatusCode
	}
	if got := limited(); got != http.StatusOK {
		t.Errorf("the first request: status %d", got)
	}
	mail, dns := dial(t, "tcp", s.mail), make([]net.Conn, manySessions)
	exchange(t, mail, "a\n")
	for i := range dns {
		dns[i] = dial(t, "udp", s.dns)
	}
	exchangeAll(t, dns, "a")
	s.answers(t, harness.H3)
	idle := harness.NewClient(t, harness.H1, s.web, "any.test", nil)
	idle.Get("/ok")
	inner := harness.NewClient(t, harness.H1, s.web, "inner.test", nil)
	if got := inner.Get("/"); got.StatusCode != http.StatusBadGateway {
		t.Errorf("where nothing listens: status %d", got.StatusCode)
	}
	streams := s.newHTTP3(t)
	stream, end := mirror(t, streams)
	exchange(t, stream, "a\n")
	s.setup.Args = []string{"--api.admin", "--entryPoints.inner.address=" + s.setup.Vars["INNER"]}
	second := harness.Start(t, s.setup)
	second.WaitLog("serving in the place of the predecessor")
	first.WaitLog("handed over")
	second.WaitLog("sessions of UDP go on", strconv.Itoa(manySessions))
	second.WaitLog("failed health checks of the predecessor", "count=1")
	if got := limited(); got != http.StatusTooManyRequests {
		t.Errorf("a request beyond the limit: status %d", got)
	}
	if !resumed(t, s.secure, resuming) {
		t.Error("the TLS session is not resumed by the successor")
	}
	exchange(t, mail, "b\n")
	exchange(t, stream, "b\n")
	exchangeAll(t, dns, "b")
	if got := s.datagrams.Sources(); got != manySessions {
		t.Errorf("the server has seen %d sources, want %d", got, manySessions)
	}
	if got := idle.Get("/ok"); !got.Close {
		t.Error("the response on an idle connection does not end it")
	}
	if got := inner.Get("/"); !got.Close || got.StatusCode != http.StatusBadGateway {
		t.Errorf("the predecessor leads to an entrypoint of its successor: status %d, close %v", got.StatusCode, got.Close)
	}
	if got := ping.Get("/ping"); !got.Close || got.StatusCode != http.StatusOK {
		t.Errorf("a health check of the predecessor: status %d, close %v", got.StatusCode, got.Close)
	}
	second.WaitLog(ordering)
	late := dial(t, "tcp", s.mail)
	exchange(t, late, "c\n")
	_ = late.Close()
	exchange(t, dial(t, "udp", s.dns), "c")
	s.answers(t, harness.H3)
	select {
	case <-first.Ended():
		t.Error("the predecessor has ended while a connection is open")
	default:
	}
	_ = mail.Close()
	exchange(t, stream, "c\n")
	end()
	streams.CloseIdleConnections()
	if code := first.Wait(); code != 0 {
		t.Errorf("the predecessor ended with exit code %d", code)
	}
	second.Stop()
	const session = `"DatagramsReceived":`
	if strings.Contains(first.Log.String(), session) {
		t.Error("the predecessor has logged a session that goes on")
	}
	if got := strings.Count(second.Log.String(), session+"2,"); got != manySessions {
		t.Errorf("the successor has logged %d sessions with all datagrams, want %d", got, manySessions)
	}
}

// exchangeAll is exchange for many connections, of which the queues of sockets hold a hundred.
func exchangeAll(t *testing.T, conns []net.Conn, line string) {
	t.Helper()
	got := make([]byte, len(line))
	for some := range slices.Chunk(conns, 100) {
		for _, conn := range some {
			if _, err := io.WriteString(conn, line); err != nil {
				t.Fatal(err)
			}
		}
		for _, conn := range some {
			_ = conn.SetReadDeadline(time.Now().Add(timeout))
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != line {
				t.Fatalf("got %q, error %v, want %q", got, err, line)
			}
		}
	}
}

// resumed sends a request, and reports whether the TLS session was resumed for it.
func resumed(t *testing.T, address string, config *tls.Config) bool {
	t.Helper()
	conn := tls.Client(dial(t, "tcp", address), config)
	get(t, conn, "any.test")
	return conn.ConnectionState().DidResume
}

// get sends the only request of a connection, and returns the status of the response.
func get(t *testing.T, conn net.Conn, host string) int {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	request := "GET /ok HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	_, _ = reader.ReadByte() // Tickets of TLS come before the end.
	return response.StatusCode
}

// sendUDP sends a datagram, which is to be answered.
func sendUDP(conn net.Conn, text string) error {
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	buffer := make([]byte, 100)
	if n, err := conn.Read(buffer); err != nil || string(buffer[:n]) != text {
		return fmt.Errorf("the datagram %q is answered by %q, error %w", text, buffer[:n], err)
	}
	return nil
}

// TestStay waits for SIGTERM after a hand-over.
func TestStay(t *testing.T) {
	s := newService(t, "")
	s.setup.Args = []string{"--handover.stay"}
	first := harness.Start(t, s.setup)
	second := harness.Start(t, s.setup)
	second.WaitLog("serving in the place of the predecessor")
	first.WaitLog("all connections have ended")
	select {
	case <-first.Ended():
		t.Error("it has ended")
	default:
	}
	first.Stop()
	s.answers(t, harness.H1)
}
