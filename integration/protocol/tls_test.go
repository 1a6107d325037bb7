package protocol

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const secure = `
entryPoints:
  websecure: {address: "127.0.0.1:0", http: {tls: {}}, http3: {}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

// guardedTLS has hosts under three kinds of TLS options; those of host a are given.
func guardedTLS(optionsOfA string) string {
	return `
http:
  routers:
    a: {rule: "Host(` + "`a.test`" + `)", service: one, tls: {options: "` + optionsOfA + `"}}
    b: {rule: "Host(` + "`b.test`" + `)", service: one}
    members: {rule: "Host(` + "`members.test`" + `)", service: one, tls: {options: members}}
    old: {rule: "Host(` + "`old.test`" + `)", service: one, tls: {options: old}}
    wild: {rule: "HostRegexp(` + "`^.+\\\\.wild\\\\.test$`" + `)", service: one}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
tls:
  certificates:
    - {certFile: "${CERT_A}", keyFile: "${KEY_A}"}
    - {certFile: "${CERT_REST}", keyFile: "${KEY_REST}"}
    - {certFile: "${CERT_WILD}", keyFile: "${KEY_WILD}"}
  options:
    members: {clientAuth: {caFiles: ["${CA}"], clientAuthType: RequireAndVerifyClientCert}}
    old: {maxVersion: VersionTLS12}
    plain: {}
`
}

// fortress is a Sluice that serves TLS only.
type fortress struct {
	*harness.Sluice

	backend   *harness.Backend
	authority *harness.Authority
}

func startFortress(t *testing.T) fortress {
	t.Helper()
	authority := harness.NewAuthority(t)
	backend := harness.StartBackend(t, "one", nil)
	a, rest := authority.Issue("a.test"), authority.Issue("b.test", "members.test", "old.test")
	wild := authority.Issue("wild", "*.wild.test")
	return fortress{harness.Start(t, harness.Setup{
		Static: secure, Dynamic: map[string]string{"all.yaml": guardedTLS("plain")},
		Vars: map[string]string{
			"BACKEND": backend.H1, "CA": authority.File, "CERT_A": a.CertFile, "KEY_A": a.KeyFile,
			"CERT_REST": rest.CertFile, "KEY_REST": rest.KeyFile, "CERT_WILD": wild.CertFile, "KEY_WILD": wild.KeyFile,
		},
	}), backend, authority}
}

// client requests a host on a connection with SNI sni.
func (f fortress) client(t *testing.T, protocol harness.Protocol, sni, host string,
	own ...tls.Certificate,
) *harness.Client {
	t.Helper()
	return harness.NewClient(t, protocol, f.Addr("websecure"), host, &tls.Config{
		RootCAs: f.authority.Pool, ServerName: sni, Certificates: own, ClientSessionCache: tls.NewLRUClientSessionCache(8),
	})
}

func secureProtocols() []harness.Protocol { return []harness.Protocol{harness.H1TLS, harness.H2} }

// TestCertificates chooses the certificate and the options by SNI.
func TestCertificates(t *testing.T) {
	t.Parallel()
	f := startFortress(t)
	for _, protocol := range secureProtocols() {
		for host, name := range map[string]string{
			"a.test": "a.test", "b.test": "b.test", "old.test": "b.test", "x.wild.test": "wild",
		} {
			got := f.client(t, protocol, host, host).Get("/")
			if got.StatusCode != http.StatusOK || got.TLS.PeerCertificates[0].Subject.CommonName != name {
				t.Errorf("%s by %s: status %d, certificate of %s", host, protocol, got.StatusCode,
					got.TLS.PeerCertificates[0].Subject)
			}
			version := map[bool]uint16{true: tls.VersionTLS12, false: tls.VersionTLS13}[host == "old.test"]
			if got.TLS.Version != version {
				t.Errorf("%s by %s: TLS version %x", host, protocol, got.TLS.Version)
			}
		}
	}
}

// TestClientCertificates admits clients with a certificate of the right authority.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	f := startFortress(t)
	member, stranger := f.authority.Issue("member").Pair, harness.NewAuthority(t).Issue("stranger").Pair
	for _, protocol := range secureProtocols() {
		if got := f.client(t, protocol, "members.test", "members.test", member).Get("/"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: a member got status %d", protocol, got.StatusCode)
		}
		for name, own := range map[string][]tls.Certificate{"none": nil, "a stranger": {stranger}} {
			client := f.client(t, protocol, "members.test", "members.test", own...)
			if got, err := client.Try(client.Request(http.MethodGet, "/", nil)); err == nil {
				t.Errorf("%s: %s got status %d", protocol, name, got.StatusCode)
			}
		}
	}
	if seen := f.backend.Seen(); seen != int64(len(secureProtocols())) {
		t.Errorf("the backend got %d requests", seen)
	}
}

// traced sends a GET request and reports whether its connection was reused.
func traced(t *testing.T, client *harness.Client, path string) (got harness.Response, reused bool) {
	t.Helper()
	trace := &httptrace.ClientTrace{GotConn: func(connection httptrace.GotConnInfo) { reused = connection.Reused }}
	request := client.Request(http.MethodGet, path, nil)
	return client.Send(request.WithContext(httptrace.WithClientTrace(request.Context(), trace))), reused
}

// TestMisdirected requests a host on a connection that was accepted under other options: 421, and the connection ends,
// so that the handshake of another host cannot be used. Hosts with the same options share connections.
func TestMisdirected(t *testing.T) {
	t.Parallel()
	f := startFortress(t)
	for _, protocol := range secureProtocols() {
		for _, host := range []string{"members.test", "old.test"} {
			client := f.client(t, protocol, "a.test", host)
			for range 2 {
				got, reused := traced(t, client, "/")
				if got.StatusCode != http.StatusMisdirectedRequest || reused {
					t.Errorf("%s by %s: status %d, on a connection that had been used: %v", host, protocol, got.StatusCode, reused)
				}
			}
		}
		if got := f.client(t, protocol, "b.test", "x.wild.test").Get("/"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: another host with the same options: status %d", protocol, got.StatusCode)
		}
	}
	if seen := f.backend.Seen(); seen != int64(len(secureProtocols())) {
		t.Errorf("the backend got %d requests", seen)
	}
}

// TestOptionsChange changes the options of open connections: a running stream completes, the next request of the
// connection gets 421, and new connections use the new options, also with an old session.
func TestOptionsChange(t *testing.T) {
	t.Parallel()
	for _, protocol := range secureProtocols() {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			f := startFortress(t)
			stream := f.backend.Stream("events")
			member := f.authority.Issue("member").Pair
			client := f.client(t, protocol, "a.test", "a.test")
			known := f.client(t, protocol, "a.test", "a.test", member)
			if got := client.Get("/"); got.StatusCode != http.StatusOK {
				t.Fatalf("status %d", got.StatusCode)
			}
			running := f.client(t, protocol, "a.test", "a.test")
			response, err := running.Do(running.Request(http.MethodGet, "/events?id=events", nil))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() //nolint:errcheck // It was read.

			f.Apply(func() { f.Write("all.yaml", guardedTLS("members")) })
			if got, reused := traced(t, client, "/"); got.StatusCode != http.StatusMisdirectedRequest || !reused {
				t.Errorf("on the live connection: status %d, reused: %v", got.StatusCode, reused)
			}
			if protocol == harness.H2 {
				if got := running.Get("/"); got.StatusCode != http.StatusMisdirectedRequest {
					t.Errorf("beside the stream: status %d", got.StatusCode)
				}
			}
			if got, err := client.Try(client.Request(http.MethodGet, "/", nil)); err == nil {
				t.Errorf("a new connection without a certificate: status %d", got.StatusCode)
			}
			if got := known.Get("/"); got.StatusCode != http.StatusOK {
				t.Errorf("a new connection with a certificate: status %d", got.StatusCode)
			}
			expectStream(t, stream, response.Body)
		})
	}
}

func expectStream(t *testing.T, stream *harness.Stream, body io.Reader) {
	t.Helper()
	lines := bufio.NewReader(body)
	for i := range 3 {
		harness.Send(t, stream.Events, fmt.Sprint(i), "the backend takes an event")
		if got, err := lines.ReadString('\n'); err != nil || got != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("the stream broke: %q, %v", got, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(stream.Events)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
}

// TestResumption resumes a session across a reload that did not concern it.
func TestResumption(t *testing.T) {
	t.Parallel()
	f := startFortress(t)
	for _, protocol := range secureProtocols() {
		for _, host := range []string{"a.test", "old.test"} {
			client := f.client(t, protocol, host, host)
			if got := client.Get("/"); got.TLS.DidResume {
				t.Errorf("%s by %s: the first connection resumed a session", host, protocol)
			}
			f.Apply(func() {
				f.Write("more.yaml",
					fmt.Sprintf("http: {services: {\"more %s %s\": {loadBalancer: {servers: [{url: 'http://127.0.0.1:1'}]}}}}",
						protocol, host))
			})
			client.Transport.CloseIdleConnections()
			if got := client.Get("/"); got.StatusCode != http.StatusOK || !got.TLS.DidResume {
				t.Errorf("%s by %s: status %d, resumed: %v", host, protocol, got.StatusCode, got.TLS.DidResume)
			}
		}
	}
}
