package entrypoint_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout bounds every wait of a test.
const timeout = time.Minute

// memory is a Logger, a Sink and the Connections of a test.
type memory struct {
	t       *testing.T
	records chan telemetry.Record
	lines   chan string
	causes  chan string
	mutex   sync.Mutex
	opened  int
	closed  int
}

func newMemory(t *testing.T) *memory {
	return &memory{
		t: t, records: make(chan telemetry.Record, 4096), lines: make(chan string, 4096), causes: make(chan string, 4096),
	}
}

func (m *memory) line(level, message string, keysAndValues []any) {
	text := level + " " + message
	for i := 1; i < len(keysAndValues); i += 2 {
		if err, ok := keysAndValues[i].(error); ok {
			text += " " + err.Error()
		}
		if s, ok := keysAndValues[i].(string); ok {
			text += " " + s
		}
	}
	m.lines <- text
}

func (m *memory) Debug(message string, kv ...any)   { m.line("debug", message, kv) }
func (m *memory) Info(message string, kv ...any)    { m.line("info", message, kv) }
func (m *memory) Warn(message string, kv ...any)    { m.line("warn", message, kv) }
func (m *memory) Error(message string, kv ...any)   { m.line("error", message, kv) }
func (m *memory) Finished(record *telemetry.Record) { m.records <- *record }

// Began notes that it was called before the handler got it.
func (m *memory) Began(record *telemetry.Record, r *http.Request) {
	record.RequestID = "began " + r.URL.Path
}

func (m *memory) Opened() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.opened++
}

func (m *memory) Closed() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.closed++
}

// Failed notes why a connection of HTTP/3 has failed.
func (m *memory) Failed(cause string) { m.causes <- cause }

// connections returns how many connections are open.
func (m *memory) connections() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.opened - m.closed
}

// accepted returns how many connections have been opened.
func (m *memory) accepted() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.opened
}

// record returns the next finished record.
func (m *memory) record() telemetry.Record {
	m.t.Helper()
	return receive(m.t, m.records, "a record")
}

// logged waits for a line that holds text.
func (m *memory) logged(text string) string {
	m.t.Helper()
	for {
		if line := receive(m.t, m.lines, "a log line with "+text); strings.Contains(line, text) {
			return line
		}
	}
}

// receive takes from a channel what a test waits for.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// selector is the TLSSelector of a test.
type selector struct {
	mutex    sync.Mutex
	byName   map[string]*certificate.Options
	fallback *certificate.Options
	asked    []string
	// before is called with each name at first, if it is not nil.
	before func(serverName string)
}

func (s *selector) SelectTLS(serverName string) (*certificate.Options, bool) {
	s.mutex.Lock()
	before := s.before
	s.mutex.Unlock()
	if before != nil {
		before(serverName)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asked = append(s.asked, serverName)
	if options, ok := s.byName[serverName]; ok {
		return options, options != nil
	}
	return s.fallback, s.fallback != nil
}

// set sets the options of a name.
func (s *selector) set(name string, options *certificate.Options) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.byName[name] = options
}

func (s *selector) use(options *certificate.Options) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fallback = options
}

func newTLS(t *testing.T, options *dynamic.TLSOptions, tickets *certificate.Tickets) *certificate.Options {
	t.Helper()
	set, problems := certificate.NewSet(nil, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o, err := certificate.NewOptions("default", options, func() *certificate.Set { return set }, nil, tickets)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// served is a running entrypoint.
type served struct {
	*memory
	t          *testing.T
	entrypoint *entrypoint.Entrypoint
	tls        *selector
	address    string
	stop       context.CancelFunc
	ended      chan error
}

// ranges returns the elements of an option such as trustedIPs.
func ranges(t *testing.T, entries ...string) []forwarded.Range {
	t.Helper()
	parsed, err := forwarded.ParseRanges(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// newConfig returns the defaults with an address of the test's own.
func newConfig() *static.EntryPoint {
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "127.0.0.1:0"
	return config
}

// start serves handler until the test ends. change may alter the defaults; it may be nil.
func start(t *testing.T, handler http.Handler, change func(*static.EntryPoint)) *served {
	t.Helper()
	return startWith(t, handler, change, nil)
}

// startWith is start with a listener of the test's own.
func startWith(t *testing.T, handler http.Handler, change func(*static.EntryPoint), listen func(context.Context, string,
	string) (net.Listener, error),
) *served {
	t.Helper()
	return startDeps(t, handler, change, func(deps *entrypoint.Dependencies) { deps.Listen = listen })
}

// startDeps is start with changed dependencies.
func startDeps(t *testing.T, handler http.Handler, change func(*static.EntryPoint),
	adapt func(*entrypoint.Dependencies),
) *served {
	t.Helper()
	config := newConfig()
	config.HTTP3 = new(static.HTTP3)
	if change != nil {
		change(config)
	}
	s := &served{
		memory: newMemory(t), t: t, ended: make(chan error, 1),
		tls: &selector{byName: map[string]*certificate.Options{}, fallback: newTLS(t, nil, certificate.NewTickets())},
	}
	deps := entrypoint.Dependencies{
		Logger: s.memory, Connections: s.memory, Sinks: []entrypoint.Sink{s.memory}, Starter: s.memory,
		Watched: telemetry.ObserveAccess, QUIC: s.memory,
	}
	if adapt != nil {
		adapt(&deps)
	}
	if deps.Listen != nil {
		config.HTTP3 = nil // It takes a socket of the system.
	}
	e, err := entrypoint.New("web", config, handler, s.tls, deps)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.entrypoint, s.address = e, e.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s.stop = stop
	go func() { s.ended <- e.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		s.wait()
	})
	return s
}

// wait waits until Serve has returned; it may be called again.
func (s *served) wait() {
	s.t.Helper()
	err := receive(s.t, s.ended, "the end of Serve")
	s.ended <- err
	if err != nil {
		s.t.Errorf("Serve: %v", err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.opened != s.closed {
		s.t.Errorf("%d connections were opened and %d closed", s.opened, s.closed)
	}
}

// dial connects with everything under a deadline.
func (s *served) dial() net.Conn {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say sends text on a connection.
func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// raw sends text on a new connection, and returns all that comes back until the other end closes.
func (s *served) raw(text string) string {
	s.t.Helper()
	conn := s.dial()
	say(s.t, conn, text)
	answer, _ := io.ReadAll(conn)
	_ = conn.Close() // The server waits for it after a refusal.
	return string(answer)
}

// answer reads one response from a connection.
func answer(t *testing.T, reader *bufio.Reader) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// protocols are the protocols that clients speak, tcpProtocols those over TCP.
func protocols() []string { return append(tcpProtocols(), "h3") }

func tcpProtocols() []string { return []string{"h1", "h1+TLS", "h2", "h2c"} }

// client returns a client that speaks one protocol, and the URL of the entrypoint for it.
func (s *served) client(protocol string) (*http.Client, string) {
	transport := &http.Transport{
		Protocols:       new(http.Protocols),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // The certificate is generated.
	}
	scheme := "https"
	switch protocol {
	case "h3":
		return s.http3(nil), scheme + "://" + s.address
	case "h1":
		transport.Protocols.SetHTTP1(true)
		scheme = "http"
	case "h1+TLS":
		transport.Protocols.SetHTTP1(true)
	case "h2":
		transport.Protocols.SetHTTP2(true)
	case "h2c":
		transport.Protocols.SetUnencryptedHTTP2(true)
		scheme = "http"
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, scheme + "://" + s.address
}

// do sends a request and reads the whole response.
func do(t *testing.T, client *http.Client, method, url string, body io.Reader, headers ...string) (*http.Response,
	string,
) {
	t.Helper()
	response, text, err := try(t, client, method, url, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return response, text
}

// try is do for requests that may fail.
func try(t *testing.T, client *http.Client, method, url string, body io.Reader, headers ...string) (*http.Response,
	string, error,
) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

// hello answers every request.
func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
