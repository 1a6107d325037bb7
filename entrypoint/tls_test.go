package entrypoint_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// dialAfter returns a dialer that says something first.
func dialAfter(first func(net.Conn) error) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = first(conn)
		}
		return conn, err
	}
}

// connectionState answers with what the connection keeps of its handshake.
func connectionState(w http.ResponseWriter, r *http.Request) {
	connection := certificate.ConnectionFrom(r.Context())
	if connection == nil {
		_, _ = io.WriteString(w, "plain")
		return
	}
	_, _ = fmt.Fprintf(w, "%d %s %v", connection.Fingerprint, connection.ServerName, r.TLS.DidResume)
}

func TestTLSFollowsTheName(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(connectionState), nil)
	strict := newTLS(t, &dynamic.TLSOptions{MinVersion: "VersionTLS13"}, nil)
	s.tls.byName["strict.example.com"] = strict
	s.tls.byName["broken.example.com"] = nil
	s.tls.byName["sni.example.com"] = newTLS(t, &dynamic.TLSOptions{SNIStrict: true}, nil)
	for _, test := range []struct {
		name    string
		version uint16
		want    string
	}{
		{"Strict.example.com", 0, fmt.Sprintf("%d strict.example.com false", strict.Fingerprint)},
		{"strict.example.com", tls.VersionTLS12, ""},
		{"other.example.com", tls.VersionTLS12, fmt.Sprintf("%d other.example.com false", s.tls.fallback.Fingerprint)},
		{"", 0, fmt.Sprintf("%d  false", s.tls.fallback.Fingerprint)},
		{"broken.example.com", 0, ""},
		{"sni.example.com", 0, ""},
	} {
		for _, protocol := range []string{"h1+TLS", "h2"} {
			client, url := s.client(protocol)
			transport, ok := client.Transport.(*http.Transport)
			if !ok {
				t.Fatal("no transport")
			}
			transport.TLSClientConfig.ServerName, transport.TLSClientConfig.MaxVersion = test.name, test.version
			_, body, err := try(t, client, http.MethodGet, url, nil)
			if refused := err != nil; refused != (test.want == "") || body != test.want {
				t.Errorf("%s %s: got %q, error %v; want %q", test.name, protocol, body, err, test.want)
			}
			if (test.name == "broken.example.com" || test.name == "sni.example.com") && !strings.Contains(fmt.Sprint(err),
				"unrecognized name") {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
	if slices.Contains(s.tls.asked, "Strict.example.com") || !slices.Contains(s.tls.asked, "strict.example.com") {
		t.Errorf("requested %q", s.tls.asked)
	}
	s.logged("TLS handshake")
}

func TestTicketsSurviveAReload(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(connectionState), nil)
	tickets := certificate.NewTickets()
	plain := func() *certificate.Options { return newTLS(t, &dynamic.TLSOptions{}, tickets) }
	cache := tls.NewLRUClientSessionCache(8)
	resumed := func() string {
		client, url := s.client("h1+TLS")
		transport, ok := client.Transport.(*http.Transport)
		if !ok {
			t.Fatal("no transport")
		}
		transport.TLSClientConfig.ClientSessionCache, transport.TLSClientConfig.ServerName = cache, "a.example.com"
		_, body := do(t, client, http.MethodGet, url, nil)
		return body[strings.LastIndex(body, " ")+1:]
	}
	for i, step := range []struct {
		options *certificate.Options
		want    string
	}{
		{plain(), "false"},
		{plain(), "true"},
		{
			newTLS(t, &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequestClientCert"}}, tickets),
			"false",
		},
	} {
		s.tls.use(step.options)
		if got := resumed(); got != step.want {
			t.Errorf("step %d: resumed %s, want %s", i, got, step.want)
		}
	}
}

func TestWithoutTLS(t *testing.T) {
	t.Parallel()
	config := newConfig()
	m := newMemory(t)
	e, err := entrypoint.New("web", config, http.HandlerFunc(hello), nil, entrypoint.Dependencies{Logger: m})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx) }()
	s := &served{memory: m, t: t, address: e.Addr().String()}
	client, url := s.client("h1+TLS")
	if _, _, err := try(t, client, http.MethodGet, url, nil); err == nil {
		t.Error("a handshake succeeded")
	}
	stop()
	if err := receive(t, ended, "Serve"); err != nil {
		t.Error(err)
	}
}

func TestHandshakeTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(50e6)
	})
	if got := s.raw("\x16\x03\x01"); got != "" {
		t.Errorf("got %q", got)
	}
	s.logged("TLS handshake")
}

// TestRefusedOverTLSAreRecordedAsThat sends a head without Host over TLS.
func TestRefusedOverTLSAreRecordedAsThat(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(connectionState), nil)
	_, url := s.client("h1+TLS")
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // The certificate is generated.
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // It only was read from.
	say(t, conn, "GET / HTTP/1.1\r\n\r\n")
	if answer, _ := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("got %q", answer)
	}
	if record := s.record(); record.TLS == nil || record.TLS.Version != tls.VersionTLS13 {
		t.Errorf("the record says nothing of TLS: %+v", record)
	}
}
