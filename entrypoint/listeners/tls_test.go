package listeners_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// certificate declares a self-signed certificate of listeners.
func (r *rig) certificate(name string, on ...string) dynamic.Certificate {
	pair := selfSigned(r.t, name)
	configuration := r.builder.Configuration()
	next := *configuration.TLS
	entry := &dynamic.CertificateEntry{Name: name + "@gw", Certificate: pair, EntryPoints: on}
	next.Certificates = append(next.Certificates[:len(next.Certificates):len(next.Certificates)], entry)
	copied := *configuration
	copied.TLS = &next
	r.builder = dynamic.NewBuilder(&copied)
	r.changed = append(r.changed, dynamic.Ref{Kind: dynamic.KindCertificate, Name: entry.Name})
	return pair
}

func TestServerNameSelectsTheListener(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	r.listener("any", address, dynamic.ListenerHTTPS, "")
	r.listener("second", address, dynamic.ListenerHTTPS, "second.org")
	r.listener("wild", address, dynamic.ListenerHTTPS, "*.wild.org")
	r.listener("fourth", address, dynamic.ListenerHTTPS, "fourth.wild.org")
	r.put(dynamic.KindRouter, "any@gw", &dynamic.Router{
		EntryPoints: []string{"any@gw"}, Rule: "Host(`first.org`)", Service: "a@internal",
	})
	r.route("second", "b", "second@gw")
	r.route("wild", "c", "wild@gw")
	r.route("fourth", "a", "fourth@gw")
	r.accepted()
	for _, test := range []struct {
		serverName, host string
		status           int
		body             string
	}{
		{"first.org", "first.org", 200, "a"},
		{"first.org", "second.org", 421, ""},
		{"first.org", "unknown.org", 404, ""},
		{"second.org", "second.org", 200, "b"},
		{"second.org", "SECOND.org:443", 200, "b"},
		{"second.org", "first.org", 421, ""},
		{"second.org", "unknown.org", 421, ""},
		{"third.wild.org", "third.wild.org", 200, "c"},
		{"third.wild.org", "fifth.wild.org", 200, "c"},
		{"third.wild.org", "fourth.wild.org", 421, ""},
		{"third.wild.org", "unknown.org", 421, ""},
		{"FOURTH.wild.org", "fourth.wild.org", 200, "a"},
		{"fourth.wild.org", "fifth.wild.org", 421, ""},
		{"unknown.org", "first.org", 200, "a"},
		{"unknown.org", "unknown.org", 404, ""},
	} {
		for _, http2 := range []bool{false, true} {
			want(t, client(t, address, test.serverName, http2), "https://"+address, test.host, test.status, test.body)
		}
	}
	r.put(dynamic.KindListener, "any@gw", nil)
	r.put(dynamic.KindRouter, "any@gw", nil)
	r.accepted()
	want(t, client(t, address, "second.org", true), "https://"+address, "unknown.org", http.StatusNotFound, "")
	_, _, _, err := get(t.Context(), client(t, address, "unknown.org", false), "https://"+address, "unknown.org")
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("a server name of no listener: %v", err)
	}
}

// Two addresses have listeners of the same hostname, with certificates and routers of their own.
func TestCertificatesOfListeners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := freeAddress(t, "tcp"), freeAddress(t, "tcp")
	leaf := func(address string) string {
		t.Helper()
		_, body, state, err := get(t.Context(), client(t, address, "a.test", true), "https://"+address, "a.test")
		if err != nil {
			t.Fatal(err)
		}
		return state.PeerCertificates[0].Subject.CommonName + " " + body
	}
	r.route("one", "a", "one@gw")
	r.route("two", "b", "two@gw")
	one, two := r.certificate("*.test", "one@gw"), r.certificate("a.test", "two@gw")
	if one == two {
		t.Fatal("the certificates are the same")
	}
	r.listener("one", first, dynamic.ListenerHTTPS, "a.test")
	r.listener("two", second, dynamic.ListenerHTTPS, "a.test")
	r.accepted()
	if got := leaf(first); got != "*.test a" {
		t.Errorf("the first listener: %s", got)
	}
	if got := leaf(second); got != "a.test b" {
		t.Errorf("the second listener: %s", got)
	}
	// The certificate comes before its listener.
	third := freeAddress(t, "tcp")
	r.certificate("b.test", "three@gw")
	if code := r.apply()["certificate b.test@gw"].Code; code != dynamic.CodeMissingEntryPoint {
		t.Errorf("code %q", code)
	}
	r.listener("three", third, dynamic.ListenerHTTPS, "b.test")
	r.route("three", "c", "three@gw")
	r.accepted()
	_, body, state, err := get(t.Context(), client(t, third, "b.test", true), "https://"+third, "b.test")
	if err != nil || body != "c" || state.PeerCertificates[0].Subject.CommonName != "b.test" {
		t.Errorf("%q, %v", body, err)
	}
}

// A certificate of all entrypoints, such as that of another tenant's Ingress, is not one of listeners: neither beside
// another one, nor once the listener has none, as after the end of a ReferenceGrant.
func TestListenersPresentNoCertificatesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	shown := func() string {
		t.Helper()
		_, _, state, err := get(t.Context(), client(t, address, "shop.test", true), "https://"+address, "shop.test")
		if err != nil {
			t.Fatal(err)
		}
		return state.PeerCertificates[0].Subject.CommonName
	}
	r.certificate("shop.test")
	r.listener("evil", address, dynamic.ListenerHTTPS, "shop.test")
	r.route("evil", "a", "evil@gw")
	r.accepted()
	if got := shown(); got == "shop.test" {
		t.Error("a listener without certificates presents that of all entrypoints")
	}
	r.certificate("dummy.test", "evil@gw")
	r.accepted()
	if got := shown(); got != "dummy.test" {
		t.Errorf("certificate of %q", got)
	}
}

// Client certificates are demanded on one address, and not on another with the same hostname.
func TestTLSOptionsOfListeners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	open, closed := freeAddress(t, "tcp"), freeAddress(t, "tcp")
	pair := selfSigned(t, "client")
	options := &dynamic.TLSOptions{EntryPoints: []string{"closed@gw"}}
	options.SetDefaults()
	options.ClientAuth.CAFiles = []string{pair.CertFile}
	r.put(dynamic.KindTLSOptions, "mutual@gw", options) // Before its listener.
	r.listener("open", open, dynamic.ListenerHTTPS, "a.test")
	r.route("all", "a", "open@gw", "closed@gw")
	if code := r.apply()["router all@gw"].Code; code != dynamic.CodeMissingEntryPoint {
		t.Errorf("code %q", code)
	}
	r.listener("closed", closed, dynamic.ListenerHTTPS, "a.test")
	r.accepted()
	want(t, client(t, open, "a.test", true), "https://"+open, "a.test", http.StatusOK, "a")
	refused := client(t, closed, "a.test", false)
	if status, _, _, err := get(t.Context(), refused, "https://"+closed, "a.test"); err == nil {
		t.Errorf("status %d without a client certificate", status)
	}
	known := client(t, closed, "a.test", false)
	loaded, err := tls.X509KeyPair([]byte(pair.CertFile), []byte(pair.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	known.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{loaded}
	want(t, known, "https://"+closed, "a.test", http.StatusOK, "a")
	// Options that cannot be used refuse all connections, of that listener alone.
	broken := *options
	broken.MinVersion = "VersionTLS9"
	r.put(dynamic.KindTLSOptions, "mutual@gw", &broken)
	if r.apply()["tlsOptions mutual@gw"].Reason == "" {
		t.Error("no verdict on the options")
	}
	known.CloseIdleConnections()
	if status, _, _, err := get(t.Context(), known, "https://"+closed, "a.test"); err == nil {
		t.Errorf("status %d with options that cannot be used", status)
	}
	want(t, client(t, open, "a.test", false), "https://"+open, "a.test", http.StatusOK, "a")
}

// backend returns the address of a server that sends its name and all that it gets, over TLS where it has a
// certificate.
func backend(t *testing.T, name string, pair *dynamic.Certificate) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if pair != nil {
		loaded, err := tls.X509KeyPair([]byte(pair.CertFile), []byte(pair.KeyFile))
		if err != nil {
			t.Fatal(err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{loaded}, MinVersion: tls.VersionTLS12}
		listener = tls.NewListener(listener, config)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err == nil {
					_, _ = io.WriteString(conn, name+" "+line)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// tcpRoute declares a TCP router of a listener with a server.
func (r *rig) tcpRoute(name, on, rule, server string, secure *dynamic.TCPRouterTLS) {
	balancer := &dynamic.TCPServersLoadBalancer{}
	balancer.SetDefaults()
	one := dynamic.TCPServer{Address: server}
	one.SetDefaults()
	balancer.Servers = []dynamic.TCPServer{one}
	r.put(dynamic.KindTCPService, name+"@gw", &dynamic.TCPService{LoadBalancer: balancer})
	r.put(dynamic.KindTCPRouter, name+"@gw", &dynamic.TCPRouter{
		EntryPoints: []string{on}, Rule: rule, Service: name, TLS: secure,
	})
}

// echo sends a line over a connection, which it closes, and returns the answer.
func echo(conn net.Conn) string {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		return err.Error()
	}
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// secureEcho is echo over TLS with a server name; the certificate has to be for name.
func secureEcho(t *testing.T, address, serverName, name string) string {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{
		ServerName: serverName, InsecureSkipVerify: true, //nolint:gosec // The names are compared.
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			leaf, err := x509.ParseCertificate(raw[0])
			if err == nil && leaf.Subject.CommonName != name {
				t.Errorf("%s: the certificate is for %q, want %q", serverName, leaf.Subject.CommonName, name)
			}
			return err
		},
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return err.Error()
	}
	return echo(conn)
}

func TestTLSListeners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	inner := selfSigned(t, "inner.test")
	r.listener("passing", address, dynamic.ListenerTLS, "inner.test")
	r.listener("ending", address, dynamic.ListenerTLS, "*.ending.test")
	r.listener("https", address, dynamic.ListenerHTTPS, "web.test")
	r.certificate("a.ending.test", "ending@gw")
	r.certificate("web.test", "https@gw")
	passed, ended := backend(t, "passed", &inner), backend(t, "ended", nil)
	r.tcpRoute("passing", "passing@gw", "HostSNI(`inner.test`)", passed, &dynamic.TCPRouterTLS{Passthrough: true})
	r.tcpRoute("ending", "ending@gw", "HostSNI(`*`)", ended, nil)
	r.route("web", "a", "https@gw")
	r.accepted()
	if got := secureEcho(t, address, "inner.test", "inner.test"); got != "passed hello\n" {
		t.Errorf("passed through: %q", got)
	}
	if got := secureEcho(t, address, "a.ending.test", "a.ending.test"); got != "ended hello\n" {
		t.Errorf("ended: %q", got)
	}
	want(t, client(t, address, "web.test", true), "https://"+address, "web.test", http.StatusOK, "a")
	want(t, client(t, address, "web.test", true), "https://"+address, "inner.test", http.StatusMisdirectedRequest, "")
	if got := secureEcho(t, address, "other.test", ""); !strings.Contains(got, "unrecognized name") {
		t.Errorf("a server name of no listener: %q", got)
	}
	r.put(dynamic.KindTCPRouter, "passing@gw", nil)
	r.accepted()
	if got := secureEcho(t, address, "inner.test", ""); !closed(got) {
		t.Errorf("a listener without a router: %q", got)
	}
	r.put(dynamic.KindListener, "https@gw", nil)
	r.put(dynamic.KindRouter, "web@gw", nil)
	r.apply()
	if got := secureEcho(t, address, "other.test", ""); !closed(got) {
		t.Errorf("a server name of no listener, of which none is of HTTPS: %q", got)
	}
	if got := secureEcho(t, address, "a.ending.test", "a.ending.test"); got != "ended hello\n" {
		t.Errorf("ended: %q", got)
	}
}

// closed reports whether an error is that of a connection that is closed or reset without an alert.
func closed(text string) bool {
	return strings.HasSuffix(text, io.EOF.Error()) || strings.HasSuffix(text, syscall.ECONNRESET.Error())
}

func TestRoutersOfOtherProtocols(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.listener("http", freeAddress(t, "tcp"), dynamic.ListenerHTTP, "")
	r.listener("tls", freeAddress(t, "tcp"), dynamic.ListenerTLS, "")
	r.listener("tcp", freeAddress(t, "tcp"), dynamic.ListenerTCP, "")
	r.route("web", "a", "tls@gw")
	r.tcpRoute("stream", "http@gw", "HostSNI(`*`)", "127.0.0.1:9", nil)
	r.tcpRoute("secure", "tcp@gw", "HostSNI(`*`)", "127.0.0.1:9", &dynamic.TCPRouterTLS{})
	verdicts := r.apply()
	for object, reason := range map[string]string{
		"router web@gw":       `listener "tls@gw" is one for TLS and takes no HTTP routers`,
		"tcpRouter stream@gw": `listener "http@gw" is one for HTTP and takes no TCP routers`,
		"tcpRouter secure@gw": `tls: listener "tcp@gw" is one for TCP and takes no routers with TLS`,
	} {
		if got := verdicts[object].Reason; got != reason {
			t.Errorf("%s: %q; all: %v", object, got, verdicts)
		}
	}
}
