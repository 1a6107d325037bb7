package entrypoint_test

import (
	"context"
	"crypto/aes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/static"
)

// isRetry reports whether a datagram is a Retry packet of version 1 (RFC 9000, section 17.2.5).
func isRetry(datagram []byte) bool {
	return len(datagram) > 5 && datagram[0]&0xf0 == 0xf0 && binary.BigEndian.Uint32(datagram[1:]) == 1
}

// TestHTTP3Retry has clients prove their addresses where half of their connections are in use, and only there.
func TestHTTP3Retry(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.Limits.MaxConnectionsPerClient = 4
	})
	for i, want := range []bool{false, false, true} {
		if got := retries(t, s); (got > 0) != want {
			t.Errorf("connection %d: %d Retry packets, want some: %v", i+1, got, want)
		}
	}
}

// TestHTTP3RetryByGate has clients prove their addresses where half of what may come before the next sample has come.
func TestHTTP3RetryByGate(t *testing.T) {
	t.Parallel()
	gate := &barrier{open: make(chan struct{})}
	close(gate.open)
	s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) { deps.Gate = gate })
	for _, want := range []bool{false, true} {
		gate.crowded.Store(want)
		if got := retries(t, s); (got > 0) != want {
			t.Errorf("crowded %v: %d Retry packets", want, got)
		}
	}
	if n := gate.entered.Load(); n != 2 {
		t.Errorf("%d connections count", n)
	}
}

// retries makes a request over a connection of its own, and returns how many Retry packets its client got.
func retries(t *testing.T, s *served) int {
	t.Helper()
	var mutex sync.Mutex
	seen := 0
	client := s.over(newQUICProxy(t, s.address, func(datagram []byte, toServer bool) bool {
		mutex.Lock()
		defer mutex.Unlock()
		if !toServer && isRetry(datagram) {
			seen++
		}
		return true
	}), nil)
	do(t, client, http.MethodGet, "https://"+s.address, nil)
	mutex.Lock()
	defer mutex.Unlock()
	return seen
}

// TestHTTP3Amplification counts what goes to an address that has sent one datagram and answers nothing.
func TestHTTP3Amplification(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(time.Second)
	})
	var received, sent, datagrams int
	proxy := newQUICProxy(t, s.address, func(datagram []byte, toServer bool) bool {
		if !toServer {
			sent += len(datagram)
			return false
		}
		if datagrams++; datagrams > 1 {
			return false
		}
		received += len(datagram)
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		receive(t, s.causes, "the end of the handshake")
		cancel()
	}()
	if _, err := quic.DialAddr(ctx, proxy.front.LocalAddr().String(), &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
	}, nil); err == nil {
		t.Fatal("a connection without answers")
	}
	proxy.mutex.Lock()
	defer proxy.mutex.Unlock()
	if received < 1200 || sent == 0 || sent > 3*received {
		t.Errorf("%d bytes were sent for %d", sent, received)
	}
}

// TestHTTP3VersionNegotiation answers a version that does not exist with those that do (RFC 9000, section 6).
func TestHTTP3VersionNegotiation(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "udp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	packet := make([]byte, 1200)
	copy(packet, "\xc0\x1a\x2a\x3a\x4a\x08abcdefgh\x08ijklmnop")
	if _, err := conn.Write(packet); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(packet)
	if err != nil {
		t.Fatal(err)
	}
	answer := packet[:n]
	if len(answer) < 23 || binary.BigEndian.Uint32(answer[1:]) != 0 || string(answer[5:23]) != "\x08ijklmnop\x08abcdefgh" {
		t.Fatalf("got %q", answer)
	}
	versions := answer[23:]
	if !strings.Contains(string(versions), "\x00\x00\x00\x01") {
		t.Errorf("versions %q", versions)
	}
}

// TestHTTP3Migration changes the port of a client in the middle of its connection: requests go on, and have the new
// address.
func TestHTTP3Migration(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr)
	}), nil)
	proxy := newQUICProxy(t, s.address, nil)
	client := s.over(proxy, nil)
	_, first := do(t, client, http.MethodGet, "https://"+s.address, nil)
	proxy.rebind(t)
	requests := 1
	s.eventually("the new address", func() bool {
		_, next := do(t, client, http.MethodGet, "https://"+s.address, nil)
		requests++
		return next != first
	})
	if n := s.accepted(); n != 1 {
		t.Errorf("%d connections", n)
	}
	ports := map[string]bool{}
	for range requests { // A record may come after the response.
		ports[s.record().ClientPort] = true
	}
	if len(ports) < 2 {
		t.Errorf("records have the ports %v", ports)
	}
}

// TestHTTP3Identifiers proves that connection identifiers are eight bytes long, and have the generation of the process
// first and what authenticates the others then.
func TestHTTP3Identifiers(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	identifiers := map[string]bool{}
	process := h3.NewProcess()
	s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) { deps.HTTP3 = process })
	for range 2 {
		client := s.over(newQUICProxy(t, s.address, func(datagram []byte, toServer bool) bool {
			mutex.Lock()
			defer mutex.Unlock()
			// The source identifier of a long header stands behind that of the destination.
			if behind := 6 + int(datagram[5]); !toServer && datagram[0]&0x80 != 0 {
				identifiers[string(datagram[behind+1:behind+1+int(datagram[behind])])] = true
			}
			return true
		}), nil)
		do(t, client, http.MethodGet, "https://"+s.address, nil)
	}
	var state struct {
		Generation byte
		IDKey      []byte
	}
	if data, err := process.Export(); err != nil || json.Unmarshal(data, &state) != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(state.IDKey)
	if err != nil {
		t.Fatal(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(identifiers) != 2 {
		t.Errorf("%d identifiers", len(identifiers))
	}
	for id := range identifiers {
		var sum [aes.BlockSize]byte
		copy(sum[:], id)
		sum[1] = 0
		block.Encrypt(sum[:], sum[:])
		if len(id) != 8 || id[0] != state.Generation || id[1] != sum[0] {
			t.Errorf("generation %x, an identifier is %x, sum %x", state.Generation, id, sum)
		}
	}
}

// TestHTTP3EarlyData sends requests in early data: refused by default, and otherwise GET alone.
func TestHTTP3EarlyData(t *testing.T) {
	for _, test := range []struct {
		name    string
		allow   bool
		options *dynamic.TLSOptions
		method  string
		want    string
		// rejected says that the client has sent early data in vain, after which it fails.
		rejected bool
	}{
		{"off", false, nil, http3.MethodGet0RTT, "", false},
		{"GET", true, nil, http3.MethodGet0RTT, "1", false},
		{"HEAD", true, nil, http3.MethodHead0RTT, "1", false},
		{
			"client certificates", true,
			&dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequestClientCert"}},
			http3.MethodGet0RTT, "", true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Early", r.Header.Get("Early-Data"))
			}), func(c *static.EntryPoint) { c.HTTP3.Allow0RTT = test.allow })
			s.tls.use(newTLS(t, test.options, certificate.NewTickets()))
			cache := tls.NewLRUClientSessionCache(8)
			config := &tls.Config{
				InsecureSkipVerify: true, ServerName: "a.example.com", ClientSessionCache: cache, //nolint:gosec // It is generated.
			}
			do(t, s.http3(config), http.MethodGet, "https://"+s.address, nil)
			s.record()
			client := s.http3(config)
			if test.want != "" {
				client = s.over(s.untilRecorded(), config)
			}
			response, _, err := try(t, client, test.method, "https://"+s.address, nil)
			if errors.Is(err, quic.Err0RTTRejected) != test.rejected || err != nil && !test.rejected {
				t.Fatal(err)
			}
			if err == nil && response.Header.Get("Early") != test.want {
				t.Errorf("Early-Data is %q, want %q", response.Header.Get("Early"), test.want)
			}
		})
	}
}

// TestHTTP3EarlyDataThatMayNotBeRepeated answers 425 to what changes something, in early data.
func TestHTTP3EarlyDataThatMayNotBeRepeated(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]http.Request{
		"POST":      {Method: http.MethodPost},
		"WebSocket": {Method: http.MethodConnect, Proto: "websocket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sendEarly(t, &request)
		})
	}
}

func sendEarly(t *testing.T, request *http.Request) {
	t.Helper()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.HTTP3.Allow0RTT, c.HTTP3.ExtendedConnect = true, true
	})
	config := &tls.Config{
		InsecureSkipVerify: true, ServerName: "a.example.com", //nolint:gosec // It is generated.
		NextProtos: []string{http3.NextProtoH3}, ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}
	do(t, s.http3(config), http.MethodGet, "https://"+s.address, nil)
	s.record()
	conn, err := quic.DialAddrEarly(t.Context(), s.untilRecorded().front.LocalAddr().String(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseWithError(0, "") }()
	stream, err := (&http3.Transport{}).NewClientConn(conn).OpenRequestStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request.URL = &url.URL{Scheme: "https", Host: s.address, Path: "/"}
	request.Host, request.Header = s.address, http.Header{}
	if err := stream.SendRequestHeader(request); err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	response, err := stream.ReadResponse()
	if err != nil {
		t.Fatal(err)
	}
	if !conn.ConnectionState().Used0RTT || response.StatusCode != http.StatusTooEarly {
		t.Errorf("early data: %v, status %d", conn.ConnectionState().Used0RTT, response.StatusCode)
	}
	if record := s.record(); record.Code != "too_early" {
		t.Errorf("record %+v", record)
	}
}

// TestAltSvc offers HTTP/3 only where a client gets it under the TLS options of its connection.
func TestAltSvc(t *testing.T) {
	t.Parallel()
	other := func(c *static.EntryPoint) { c.HTTP3.AdvertisedPort = 8443 }
	for _, test := range []struct {
		name, protocol, host string
		change               func(*static.EntryPoint)
		want                 string
	}{
		{"by address", "h2", "", nil, `h3=":PORT"; ma=86400`},
		{"HTTP/1.1", "h1+TLS", "", nil, `h3=":PORT"; ma=86400`},
		{"without TLS", "h1", "", nil, ""},
		{"over HTTP/3 itself", "h3", "", nil, ""},
		{"another port", "h2", "", other, `h3=":8443"; ma=86400`},
		{"another host with the same options", "h2", "same.example.com", nil, `h3=":PORT"; ma=86400`},
		{"other options", "h2", "strict.example.com", nil, ""},
		{"no host that is compared", "h2", "a..b", nil, ""},
		{"off", "h2", "", func(c *static.EntryPoint) { c.HTTP3 = nil }, ""},
		{"withdrawn", "h2", "", func(c *static.EntryPoint) { c.HTTP3.Withdrawn = true }, "clear"},
		{"withdrawn, without TLS", "h2c", "", func(c *static.EntryPoint) { c.HTTP3.Withdrawn = true }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(hello), test.change)
			s.tls.set("strict.example.com", newTLS(t, &dynamic.TLSOptions{SNIStrict: true}, nil))
			client, url := s.client(test.protocol)
			_, port, _ := net.SplitHostPort(s.address)
			want := strings.Replace(test.want, "PORT", port, 1)
			s.eventually("HTTP/3", func() bool { return s.altSvc(client, url, test.host) == want })
		})
	}
}

// altSvc returns the header Alt-Svc of a response. host may be empty.
func (s *served) altSvc(client *http.Client, url, host string) string {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.Header.Get("Alt-Svc")
}

// TestAltSvcOfOldOptions does not offer HTTP/3 where options exclude TLS 1.3, and handlers can change what it says.
func TestAltSvcOfOldOptions(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Offered", w.Header().Get("Alt-Svc"))
		if r.URL.Path == "/removed" {
			w.Header().Del("Alt-Svc")
		}
	}), nil)
	client, url := s.client("h2")
	s.eventually("HTTP/3", func() bool { return s.altSvc(client, url, "") != "" })
	if response, _ := do(t, client, http.MethodGet, url+"/removed", nil); response.Header.Get("Alt-Svc") != "" ||
		response.Header.Get("Offered") == "" {
		t.Errorf("header %v", response.Header)
	}
	s.tls.use(newTLS(t, &dynamic.TLSOptions{MaxVersion: "VersionTLS12"}, nil))
	client, url = s.client("h2")
	if got := s.altSvc(client, url, ""); got != "" {
		t.Errorf("Alt-Svc is %q", got)
	}
}

// TestHTTP3DrainsIdleConnections ends connections without requests soon, though their clients keep them.
func TestHTTP3DrainsIdleConnections(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.LifeCycle.GraceTimeOut = static.Duration(timeout)
	})
	conn, err := quic.DialAddr(t.Context(), s.address, &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("the connection", func() bool { return s.connections() == 1 })
	s.stop()
	s.wait()
	receive(t, conn.Context().Done(), "the end of the connection")
}

var _ entrypoint.QUICConnections = (*memory)(nil)

// TestHTTP3QLog records connections in a bounded number of files of a bounded size, without the fields of requests.
func TestHTTP3QLog(t *testing.T) {
	t.Parallel()
	const maxBytes = 4 << 10
	directory := t.TempDir()
	old := filepath.Join(directory, "web-20000101T000000.000000000-ab.sqlog")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.HTTP3.QLog = &static.QLog{Directory: directory, MaxFiles: 2, MaxBytes: maxBytes}
	})
	for range 3 {
		client := s.http3(nil)
		do(t, client, http.MethodGet, "https://"+s.address, nil, "Authorization", "secret")
		client.CloseIdleConnections()
	}
	s.stop()
	s.wait()
	names, err := filepath.Glob(filepath.Join(directory, "*"))
	if err != nil || len(names) != 2 || slices.Contains(names, old) {
		t.Fatalf("files %v, error %v", names, err)
	}
	for _, name := range names {
		var text []byte
		s.eventually("events", func() bool {
			text, err = os.ReadFile(name)
			return err != nil || strings.Contains(string(text), "transport:")
		})
		if err != nil || len(text) > maxBytes || strings.Contains(string(text), "authorization") {
			t.Errorf("%d bytes, error %v: %s", len(text), err, text)
		}
	}
}

// TestHTTP3QLogWithoutDirectory serves connections that cannot be recorded, and says so.
func TestHTTP3QLogWithoutDirectory(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.HTTP3.QLog = &static.QLog{Directory: filepath.Join(t.TempDir(), "missing"), MaxFiles: 2, MaxBytes: 1}
	})
	do(t, s.http3(nil), http.MethodGet, "https://"+s.address, nil)
	s.logged("a connection is not recorded in qlog")
}
